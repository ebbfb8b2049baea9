// The short table: what a person wants to know first.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "scoring/view.h"

namespace kw::scoring {

struct HeadlineRow {
  std::string measure;
  std::string value;
  std::string interval;  // empty: none
  std::string of;        // "of 12 tasks"
};

std::vector<HeadlineRow> headline(const boost::json::object& result);

// What must stand above every figure: trained on, not checked, recorded verdicts, no speed. One sentence
// each.
std::vector<std::string> warnings(const boost::json::object& result);

// "(includes tasks that were trained on)", where a result does; else empty.
std::string training_mark(const boost::json::object& result);

// Both for a terminal, each line with its newline.
std::string short_table(const boost::json::object& result);

// "0.583", "0.417 to 0.733"; "not known" for no value.
std::string number_words(const std::optional<double>& value);
std::string interval_words(View estimate);

}  // namespace kw::scoring
