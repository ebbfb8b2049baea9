// Messages to and from the process that compiles, and a cache of its answers.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/files.h"
#include "dataset/labels/labels.h"
#include "dataset/units/unit.h"

namespace kw::labels {

// Increase it when the label of an unchanged kernel may change.
inline constexpr std::string_view label_version = "3";

struct Answer {
  corpus::CompileLabel label = corpus::CompileLabel::not_tried;
  std::string reason;
  std::vector<std::string> compiled_for;
};

// The job without its number, on one line.
std::string job_line(const corpus::Unit& unit);

// SHA-256 of all inputs of the answer.
std::string job_key(std::string_view job, const CompileOptions& options, std::string_view triton);

// "sm_80", "sm_86", "sm_90".
std::vector<std::string> target_names(const CompileOptions& options);

// The answer of the kernel's own process. That process ran untrusted code, so every part is checked; empty
// if one is invalid.
std::optional<Answer> read_answer(std::string_view text, const std::vector<std::string>& targets);

// One line of the helper: the job's number, its end, and the answer's text.
struct Reply {
  std::size_t number = 0;
  std::string how;
  std::string answer;
};
std::optional<Reply> read_reply(std::string_view line);

// The answer for a reply.
Answer answer_of(const Reply& reply, const std::vector<std::string>& targets);

// A cache of answers by key, in an append-only file of JSON lines.
class AnswerCache {
 public:
  // Skips malformed lines. With an empty path nothing is stored.
  static Result<AnswerCache> open(const std::filesystem::path& path, const std::vector<std::string>& targets);

  const Answer* find(const std::string& key) const;

  // Stores the answer. Callers do not store an answer that a retry could change (time, memory).
  Result<> keep(const std::string& key, const Answer& answer);

 private:
  std::map<std::string, Answer> answers_;
  std::filesystem::path path_;
  Fd file_;
};

}  // namespace kw::labels
