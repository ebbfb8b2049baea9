// The answer of `verify`: the fields of a verdict that an agent needs, and its text.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "mcp/tool.h"
#include "types/job.h"
#include "types/verdict.h"

namespace kw::mcp {

// A verdict in an answer; a larger one is left to its resource.
inline constexpr std::size_t most_full_bytes = std::size_t{256} << 10;

struct AnswerOptions {
  Trust min_trust = Trust::replay;  // of a speed-up
  bool full = false;                // with the whole verdict
};

// Keeps the verdict in the shelf and answers with it: in the words of the terminal, with the source around
// the fault and the remedy.
ToolAnswer answer_with(const Verdict& verdict, const Job& job, const AnswerOptions& options,
                       VerdictShelf& shelf);

// JSON Schema of the structured part.
boost::json::object verdict_answer_schema();

}  // namespace kw::mcp
