// The largest error of each output, in units of what the reference itself loses against float64.
#pragma once

#include "types/verdict.h"
#include "verify/messages/message.h"

namespace kw::verify {

// Adds one judgement to the ratios of a comparison, which cover all judgements so far.
void take_error_ratios(const wire::JudgedT& judged, Comparison& comparison);

}  // namespace kw::verify
