// Job: one candidate to be judged on one task, with the name its row had and the fields to hand through.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <optional>
#include <string>

#include "schema/candidate.h"
#include "schema/settings.h"
#include "schema/task.h"

namespace kw {

// What an earlier evaluator said of the candidate.
struct RecordedResult {
  bool correctness = false;
  std::optional<double> speedup;
  std::string error;
};

struct Job {
  std::string id;
  std::size_t sample_number = 0;  // occurrence of the task in its source, from 0
  Task task;
  Candidate candidate;
  JobOptions options;
  boost::json::object carried;  // fields of the row that are not ours
  std::optional<RecordedResult> recorded;
};

}  // namespace kw
