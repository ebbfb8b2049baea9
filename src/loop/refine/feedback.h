// Feedback: the text to a model on its last answer. A pure function of the verdict and the code.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "loop/refine/settings.h"
#include "types/verdict.h"

namespace kw::refine {

// The maximum length of the text in bytes.
inline constexpr std::size_t feedback_limit = 1800;

struct FeedbackContext {
  PromptStyle style = PromptStyle::wrapper;
  double target_speedup = 1.0;
  bool cut_short = false;           // the answer ended at its length limit
  Trust min_trust = Trust::replay;  // the least trust of a speed that is told
};

// The event, its place and size; then the expected form of the next answer. Plain text without paths.
std::string build_feedback(const Verdict& verdict, std::string_view code, const FeedbackContext& context);

// Plain text with absolute paths shortened to their last name.
std::string cleaned(std::string_view text);

// For a failed or incorrect candidate: headline, error, place, advice.
std::string failure_part(const Verdict& verdict, std::string_view code, const FeedbackContext& context);

// For a correct candidate: why it does not count, or its speed and the distribution of its time.
std::string correct_part(const Verdict& verdict, const FeedbackContext& context);

}  // namespace kw::refine
