// Feedback: what a model is told of its last answer. A pure function of the verdict and the code.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "refine/settings.h"
#include "schema/verdict.h"

namespace kw::refine {

// The whole text is never longer, in bytes.
inline constexpr std::size_t feedback_limit = 1800;

struct FeedbackContext {
  PromptStyle style = PromptStyle::wrapper;
  double target_speedup = 1.0;
  bool cut_short = false;  // the answer ended at its length limit
};

// What happened, where and by how much; then what to send back. Plain text without paths.
std::string build_feedback(const Verdict& verdict, std::string_view code, const FeedbackContext& context);

}  // namespace kw::refine
