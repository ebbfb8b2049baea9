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

// Moves inline <think>…</think> at the beginning of the content into the reasoning; so too where only the end
// tag is there, since some chat templates open it in the prompt. `ended`: the model stopped by itself. A tag
// never closed is then not a thought cut short, and all of it stays content.
void split_think(Said& said, bool ended);

}  // namespace kw::llm
