// Which turns are good enough to train on.
#pragma once

#include <string>

#include "store/training_rows.h"

namespace kw::store {

// Why this turn is left out; empty where it is not.
std::string why_left_out(const Turn& turn, const TrainingOptions& options);

// The same task's first answer is to be preferred to its second: correct and counting to wrong, or at least a
// tenth faster where both are correct and count.
bool is_better(const Turn& one, const Turn& other);

bool is_benchmark(const Task& task);

}  // namespace kw::store
