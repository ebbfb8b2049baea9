// Candidate: source code that should replace a task's reference.
#pragma once

#include <string>
#include <string_view>

namespace kw {

struct Candidate {
  std::string code;
  std::string kernel_name;  // as the source calls it; may be empty
  std::string entry;        // class or function to call; empty: recognised
};

// Over the source's bytes as given.
std::string candidate_sha256(std::string_view code);

}  // namespace kw
