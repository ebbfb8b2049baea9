// What goes to the process that compiles, and what comes back from it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "corpus/unit.h"
#include "labels/labels.h"

namespace kw::labels {

// Counts up whenever a label may come out otherwise for the same kernel.
inline constexpr std::string_view label_version = "2";

struct Answer {
  corpus::CompileLabel label = corpus::CompileLabel::not_tried;
  std::string reason;
  std::vector<std::string> compiled_for;
};

// The job without its number, on one line.
std::string job_line(const corpus::Unit& unit);

// SHA-256 over all that the answer depends on.
std::string job_key(std::string_view job, const CompileOptions& options, std::string_view triton);

// "sm_80", "sm_90".
std::vector<std::string> target_names(const CompileOptions& options);

// What the kernel's own process said: code of others ran in it, so every part is checked, and none where
// one is not as it must be.
std::optional<Answer> read_answer(std::string_view text, const std::vector<std::string>& targets);

// One line of the helper: which job, how it ended, and the answer's text.
struct Reply {
  std::size_t number = 0;
  std::string how;
  std::string answer;
};
std::optional<Reply> read_reply(std::string_view line);

// The answer that a reply stands for.
Answer answer_of(const Reply& reply, const std::vector<std::string>& targets);

}  // namespace kw::labels
