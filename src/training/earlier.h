// What a folder was trained with so far, against what is asked for now.
#pragma once

#include "base/result.h"
#include "training/job.h"

namespace kw::training {

// An error names every difference in model, files of data, steps and recipe between the job and the one that
// its output folder holds. Files may have moved: what they hold counts. How often is saved and logged may
// change.
Result<> check_same(const Job& job);

}  // namespace kw::training
