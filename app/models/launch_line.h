// What is wrong with a line that starts a vLLM server, as far as its words tell.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kw::models {

// Below this a conversation of several turns hardly fits: the system prompt takes about 2,000 tokens, a task
// up to 8,000, an answer with its reasoning as much again.
inline constexpr std::uint64_t least_context_tokens = 16384;

struct LaunchFinding {
  bool fatal = false;  // the server does not start
  std::string what;
  std::string remedy;
};

// `text` is a command line or a whole shell script. Empty where nothing is wrong.
std::vector<LaunchFinding> examine_launch(std::string_view text);

// The words of the commands in it that start vLLM, or of all where none plainly does. Quotes and continued
// lines are understood, variables are not.
std::vector<std::string> launch_words(std::string_view text);

}  // namespace kw::models
