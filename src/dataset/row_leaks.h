// What one row resembles: a benchmark, or its own other half.
#pragma once

#include <string_view>
#include <vector>

#include "corpus/row.h"
#include "leak/leak.h"

namespace kw::dataset {

std::vector<corpus::Leak> row_leaks(std::string_view prompt, std::string_view completion,
                                    const leak::Index& benchmarks, const leak::Thresholds& thresholds);

}  // namespace kw::dataset
