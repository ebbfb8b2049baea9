// Comparison of two sources of a report on the tasks that both have: wins and losses with their significance,
// settings that differ, and tasks whose result flipped.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "report/summary/summary.h"

namespace kw::report {

struct Flip {
  std::string task_id;
  std::size_t before = 0;  // numbers of rows: the first of the task in each source
  std::size_t after = 0;
  double right_before = 0;  // shares of the task's samples
  double right_after = 0;
};

// Tasks with another share of right samples, by id: losses first.
std::vector<Flip> flipped_tasks(const Index& index, std::size_t before, std::size_t after);

// docs/report_format.md describes the object.
boost::json::object comparison_json(const Index& index, std::size_t before, std::size_t after);

// The rows of one source.
WantedRow of_source(const Index& index, std::size_t source);

// The sources with a judged row.
std::vector<std::size_t> judged_sources(const Index& index);

// Each further source against the first, of those that have judged rows; at most 16.
boost::json::array comparisons_json(const Index& index);

}  // namespace kw::report
