// The Markdown and JSON forms of a report, and its short summary for a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/core/display.h"
#include "report/model/index.h"
#include "report/summary/overview.h"

namespace kw::report {

// The first bytes of the Markdown form.
inline constexpr std::string_view markdown_mark = "<!-- kernelwright.report/1 -->\n";

// The tables of a report: overview with claims, comparisons, best kernels, rows.
std::string markdown(const Index& index, const Overview& overview);

// The index with `summary`, and without details.
std::string json_text(const Index& index, const Overview& overview);

// At most about twenty lines.
std::string terminal_summary(const Index& index, const Overview& overview, const Style& style);

// A task for people: its id, or its name where the id is a hash.
std::string task_label(const Rows& rows, std::size_t row);

// "8 of 13 samples, 2 not judged, 8 samples are unfinished": those that are right, of those that were judged.
std::string right_words(const Summary& summary);

// What a figure shows nothing of, one sentence each: "Speed was not measured."
std::vector<std::string> not_measured(const Summary& summary);

}  // namespace kw::report
