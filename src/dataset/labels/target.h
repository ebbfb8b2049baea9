// The hardware that a unit is written for.
#pragma once

#include "dataset/units/row.h"
#include "dataset/units/unit.h"

namespace kw::labels {

// Read from the unit's path, else from vendors' names in its text, else from the imports of its context.
// Names of several vendors count as none. CUDA without such names is nvidia, Triton and PyTorch neutral.
corpus::Target target_of(const corpus::Unit& unit);

}  // namespace kw::labels
