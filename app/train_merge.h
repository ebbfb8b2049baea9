#pragma once

#include "flags/train_flags.h"

namespace kw::app {

// `kernelwright train merge`. The exit status, as of train().
int train_merge(const TrainMergeFlags& flags);

}  // namespace kw::app
