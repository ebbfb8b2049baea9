// The result for people: the short table, warnings, and the report in Markdown.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "score/report/view.h"

namespace kw::scoring {

// The short table of a result.
struct HeadlineRow {
  std::string measure;
  std::string value;
  std::string interval;  // empty: none
  std::string of;        // "of 12 tasks"
};

std::vector<HeadlineRow> headline(const boost::json::object& result);

// Warnings above the metrics: trained on, not checked, recorded verdicts, no speed. One sentence each.
std::vector<std::string> warnings(const boost::json::object& result);

// "(includes training tasks)" if the result includes such tasks; else empty.
std::string training_mark(const boost::json::object& result);

// The deciding reason of each scored answer whose static checks are in this state.
struct CheckReason {
  std::string target;
  std::string check;
  std::string what;
  std::size_t line = 0;  // 0: nowhere in particular
};
std::vector<CheckReason> check_reasons(View result, std::string_view state);

// Both for a terminal; each line ends with a newline.
std::string short_table(const boost::json::object& result);

// "pass@1", and the turns among which the best one was scored.
std::string pass_words(View result, View point);

// "0.583", "0.417 to 0.733"; "not known" for no value.
std::string number_words(const std::optional<double>& value);
std::string interval_words(View estimate);

// The result as a report in Markdown. The JSON contains all of it.
std::string markdown(const boost::json::object& result);

// Its parts; each heading ends with `mark`: training_mark.
std::string verdict_tables(View result, const std::string& mark);
std::string text_tables(View result, const std::string& mark);
std::string paired_tables(View result, const std::string& mark);
std::string review_tables(View result, const std::string& mark);

// "## TITLE MARK"
std::string heading(std::string_view title, const std::string& mark);
// A table of names and counts; empty if there are none.
std::string count_rows(std::string_view title, View counts);

}  // namespace kw::scoring
