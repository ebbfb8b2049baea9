// What an answer's code alone decides, before the verifier is asked. Only what is certain: all else is the
// verifier's to say, and stays a hint in the feedback.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schema/verdict.h"

namespace kw::refine {

struct Precheck {
  std::optional<Verdict> verdict;  // status, stage, fault, error and its class and place; nothing of identity
  std::string kernel_name;         // the first @triton.jit function; empty where there is none
};

// `code` as extracted: empty where the answer held none. `cut_short`: it ended at its length limit.
// - no code, or nothing in it that could be called: missing_entry
// - brackets or a docstring that never close, on which the parser agrees: syntax_error
// - a forbidden import or call: forbidden
// - a PyTorch operation on a kernel's own value: compile_error
Precheck check_before(const std::string& code, bool cut_short);

}  // namespace kw::refine
