// The code in what a model wrote.
#pragma once

#include <string>
#include <string_view>

namespace kw {

// The first of these that there is, with newlines as "\n" and without the indentation of its fence:
// 1. the last complete <triton>...</triton> whose inside looks like Python, without a fence around it;
// 2. the last fenced block with @triton.jit;
// 3. the last other <triton>...</triton> that is no mere mention;
// 4. the last Python block;
// 5. what follows a tag or fence that an answer cut short left open;
// 6. the text itself where it looks like Python.
// Else nothing: the answer holds no code.
std::string extract_code(std::string_view completion);

// The same of all that a model wrote, with what it thought still in it: the thoughts are taken off first. One
// that never ends was cut short, and nothing was answered.
std::string extract_answered_code(std::string_view completion);

// Files that hold a completion rather than code: .md and .txt.
bool is_completion_file(std::string_view path);

}  // namespace kw
