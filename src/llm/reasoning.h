// What a model thought, told from what it answered.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "base/result.h"

namespace kw::llm {

struct Said {
  std::string content;
  std::string reasoning;
};

// Of a message or a delta: content as text or as a list of parts; reasoning from `reasoning_content`,
// `reasoning` or `reasoning_details`, the first of them that says something, since servers repeat it. Bytes
// as they came. An error names the field that has a wrong type.
Result<Said> said_in(const boost::json::object& message);

// Moves inline <think>…</think> at the beginning of the content into the reasoning: see part_thought().
void split_think(Said& said, bool ended);

}  // namespace kw::llm
