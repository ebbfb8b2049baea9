// `kernelwright dataset synth`: draws PyTorch sources, rewrites the compiler's Triton code for them, judges
// the pairs.
#pragma once

#include "options/dataset_flags.h"

namespace kw::app {

// The exit status: 0 when every source was drawn and judged, 130 after Ctrl-C. The same command goes on.
int dataset_synth(const DatasetSynthFlags& flags);

}  // namespace kw::app
