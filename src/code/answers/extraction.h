// Extracts the code from a model's answer: parts reasoning from it, and finds fenced blocks of Markdown.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

// Reasoning in the same text as the answer.
struct Parted {
  std::string thought;
  std::string answer;
};

// Separates inline <think>…</think> at the beginning of a text from the answer. A lone end tag counts too,
// since some chat templates open the tag in the prompt, unless the thoughts were received `elsewhere`.
// `ended`: the model stopped by itself; then an unclosed tag is no truncated thought, and the whole text is
// the answer. Empty if the text contains no thought.
std::optional<Parted> part_thought(std::string_view text, bool ended, bool elsewhere = false);

// Fenced blocks of a Markdown text in models' style.
struct Fence {
  std::string_view language;  // the first word after the fence
  std::string_view body;
  std::size_t indentation = 0;  // of the opening line; in a list, the body's lines have it too
  bool closed = false;
};

// The blocks in order. A fence of backticks or tildes ends at a fence of the same kind and at least its
// length on a line of its own; within an open docstring a fence is text. A fence that is still open at the
// next fence or at the end is unclosed.
std::vector<Fence> find_fences(std::string_view text);

// Whether a line of the text can only be Python: an import, a definition, a decorator.
bool looks_like_python(std::string_view text);

// The line at the offset, without its newline, and the offset of the next line.
std::string_view line_at(std::string_view text, std::size_t offset);
std::size_t after_line(std::string_view text, std::size_t offset);

// The first of these that exists, with newlines as "\n" and without the indentation of its fence:
// 1. the last complete <triton>...</triton> whose inside looks like Python, without a fence around it;
// 2. the last fenced block with @triton.jit;
// 3. the last other <triton>...</triton> that is no mere mention;
// 4. the last Python block;
// 5. the text after an unclosed tag or fence of a truncated answer;
// 6. the text itself if it looks like Python.
// Empty if the answer contains no code.
std::string extract_code(std::string_view completion);

// The same for an answer that includes reasoning: removes the reasoning first. Unclosed reasoning means a
// truncated answer, which contains no code.
std::string extract_answered_code(std::string_view completion);

// Whether a file contains a completion instead of code: .md and .txt.
bool is_completion_file(std::string_view path);

}  // namespace kw
