// Prompts state the rules for an answer: the system prompt and the first user turn. The precheck tests an
// answer's code for certain violations before verification.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loop/refine/settings.h"
#include "types/job.h"
#include "types/trace.h"
#include "types/verdict.h"

namespace kw::refine {

// prompts/system_*.txt at build time: a Triton primer, the required definitions of the module, and the rules
// that the verifier enforces.
std::string_view default_system_prompt(PromptStyle style);

// prompts/gradients.txt at build time, which asks for gradients too; {0} stands for the entry's name.
std::string_view gradients_prompt();
// The default system prompt; where gradients are judged, with what asks for them.
std::string system_prompt_for(PromptStyle style, bool gradients);

// The reference in a fence, its entry point if one is named, and the inputs of a function pair; where
// gradients are judged, it asks for them.
std::string user_turn(const Task& task, PromptStyle style, bool gradients = false);

// System message (none if the text is empty) and user turn.
std::vector<Message> opening_messages(const Task& task, const Settings& settings);

// "triton_kernel_wrapper" or "ModelNew".
std::string_view entry_name(PromptStyle style);

// Checks on an answer's code before verification. Reports certain faults only; the verifier decides all
// else, and uncertain findings are hints in the feedback.
struct Precheck {
  std::optional<Verdict>
      verdict;              // status, stage, fault, error and its class and place; no fields of identity
  std::string kernel_name;  // the first @triton.jit function; empty if there is none
};

// `code`: the extracted code, empty if the answer had none. `cut_short`: it ended at its length limit.
// - no code, or no possible entry point: missing_entry
// - unclosed brackets or docstring, if the parser also fails: syntax_error
// - a forbidden import or call: forbidden
// - a PyTorch operation on a kernel's own value: compile_error
Precheck check_before(const std::string& code, bool cut_short);

}  // namespace kw::refine
