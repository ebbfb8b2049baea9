// The code in what a model wrote.
#pragma once

#include <string>
#include <string_view>

namespace kw {

// The last complete <triton>...</triton>; else the last fenced block with @triton.jit, else the last Python
// block; else the text itself. A fence within <triton> tags is taken off.
std::string extract_code(std::string_view completion);

// Files that hold a completion rather than code: .md and .txt.
bool is_completion_file(std::string_view path);

}  // namespace kw
