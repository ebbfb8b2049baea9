// Rows of a CSV file.
#pragma once

#include <memory>
#include <string>

#include "table/rows.h"

namespace kw::table {

// The first record names the columns.
Result<std::unique_ptr<TextRows>> open_csv(const std::string& path, const ReadOptions& options);

}  // namespace kw::table
