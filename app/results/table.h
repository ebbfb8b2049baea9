// The terminal table: one candidate a line.
#pragma once

#include <string>
#include <vector>

#include "base/style.h"
#include "results/result_row.h"

namespace kw {

std::string table(const std::vector<ResultRow>& rows, const Style& style);

}  // namespace kw
