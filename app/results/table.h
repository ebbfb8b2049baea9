// The terminal table: one candidate a line.
#pragma once

#include <string>
#include <vector>

#include "results/result_row.h"
#include "results/style.h"

namespace kw {

std::string table(const std::vector<ResultRow>& rows, const Style& style);

}  // namespace kw
