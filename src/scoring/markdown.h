// The result as a report in Markdown. Everything in it stands in the JSON.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "scoring/view.h"

namespace kw::scoring {

std::string markdown(const boost::json::object& result);

// Its parts; `mark` stands beside each heading: training_mark.
std::string verdict_tables(View result, const std::string& mark);
std::string text_tables(View result, const std::string& mark);
std::string paired_tables(View result, const std::string& mark);
std::string review_tables(View result, const std::string& mark);

// "## TITLE MARK"
std::string heading(std::string_view title, const std::string& mark);
// A table of name and count; nothing where there are none.
std::string count_rows(std::string_view title, View counts);

}  // namespace kw::scoring
