// The rows of a report as CSV: one line for each row, with the columns of docs/report_format.md.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "report/model/index.h"

namespace kw::report {

using Write = std::function<Result<>(std::string_view)>;

// The name of the source in place of its number, and no places of details.
Result<> write_csv(const Index& index, const Write& write);

// A record whose texts are made safe for spreadsheets.
std::string csv_line(const std::vector<std::string>& cells);

}  // namespace kw::report
