// What the driver says of a GPU's clocks, through its management library, which is looked for at run time.
#pragma once

#include <optional>

#include "schema/verdict.h"

namespace kw::verify {

// Of the CUDA device with this ordinal; nothing where the library is missing or does not answer.
std::optional<Clocks> gpu_clocks(int ordinal);

// The driver's reasons for slower clocks in words, but for idleness: "power cap, thermal"; empty for none.
std::string throttle_words(unsigned long long reasons);

}  // namespace kw::verify
