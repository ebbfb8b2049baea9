// A recorded turn in the words of the protocol: what the scripted model sends.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "llm/chat.h"

namespace kw::llm {

// The model's name, as /v1/models lists it.
inline constexpr std::string_view scripted_name = "scripted";

// One JSON object: message, reasoning in `reasoning_content`, usage.
std::string whole_answer(const Turn& turn, const std::vector<Message>& messages);

// Events of a stream: role, pieces of the reasoning, pieces of the content, finish reason, usage if wanted,
// and [DONE]. A piece ends between characters.
std::vector<std::string> streamed_answer(const Turn& turn, const std::vector<Message>& messages,
                                         bool with_usage, std::size_t piece_bytes);

std::string models_answer();

std::string error_answer(std::string_view message, std::string_view type, int status);

}  // namespace kw::llm
