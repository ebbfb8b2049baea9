// The parts that feedback is put together from. Each is bounded, and ends with a newline unless it is empty.
#pragma once

#include <string>
#include <string_view>

#include "refine/feedback.h"

namespace kw::refine {

// Plain text in which absolute paths are cut down to their last name.
std::string cleaned(std::string_view text);

// Of a candidate that broke, or whose result is wrong: headline, the error itself, its place, what may help.
std::string failure_part(const Verdict& verdict, std::string_view code, const FeedbackContext& context);

// Of a correct one: why it does not count, or how fast it is and where the time goes.
std::string correct_part(const Verdict& verdict, const FeedbackContext& context);

}  // namespace kw::refine
