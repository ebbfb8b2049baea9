// What a model is asked: the system prompt and the first user turn.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "refine/settings.h"
#include "schema/task.h"
#include "schema/trace.h"

namespace kw::refine {

// prompts/system_*.txt as they were when the program was built: a Triton primer, what the module must define,
// and the rules that the verifier enforces.
std::string_view default_system_prompt(PromptStyle style);

// The reference in a fence, its entry point where one is named, and the inputs of a function pair.
std::string user_turn(const Task& task, PromptStyle style);

// System message (none where the text is empty) and user turn.
std::vector<Message> opening_messages(const Task& task, const Settings& settings);

// "triton_kernel_wrapper" or "ModelNew".
std::string_view entry_name(PromptStyle style);

}  // namespace kw::refine
