// Labels of a whole file of Triton code, such as the completion of a pair.
#pragma once

#include <string>

#include "dataset/units/row.h"

namespace kw::pairs {

// A label is true if it is true of any kernel of the file; self_contained: of all. The compile label is not
// set.
corpus::Labels labels_of_code(const std::string& python);

}  // namespace kw::pairs
