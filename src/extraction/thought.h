// What a model thought, where it stands in the same text as its answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kw {

struct Parted {
  std::string thought;
  std::string answer;
};

// Takes inline <think>…</think> off the beginning of a text; so too where only the end tag is there, since
// some chat templates open it in the prompt, unless the thoughts came `elsewhere` already. `ended`: the model
// stopped by itself. A tag never closed is then not a thought cut short, and all of it is the answer. Nothing
// where there is no thought in it.
std::optional<Parted> part_thought(std::string_view text, bool ended, bool elsewhere = false);

}  // namespace kw
