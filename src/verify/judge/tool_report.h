// What compute-sanitizer's text says of a replay. The text holds names of the candidate's choice.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kw::verify {

enum class ReportOf { memcheck, racecheck };

struct ToolFinding {
  std::string kind;         // "write of 4 bytes beyond shared memory"
  std::string kernel = {};  // as the tool names it; empty: not known
  std::string place = {};   // "kernel.py:12"; empty: not known
  // At an address where the replayer maps the call's own memory. What is mapped there may be accessed, and
  // what is not ends every replay, so it is the tool that does not know the mapping.
  bool is_of_the_call = false;
  bool operator==(const ToolFinding&) const = default;
};

struct ToolReport {
  std::vector<ToolFinding> findings = {};  // errors alone, each once: many threads make the same access
  // Why there may be more to find; empty: the tool came to its end, and the findings are all of its errors.
  std::string why_not = {};
};

ToolReport read_tool_report(ReportOf tool, std::string_view text);

}  // namespace kw::verify
