// Rows of a Parquet file, and of a JSON list: laid out as JSON lines, so that they can be read again by
// number.
#pragma once

#include <memory>
#include <string>

#include "table/rows.h"

namespace kw::table {

// The rows are laid out in options.spill (a folder; empty: the system's) as next() gives them.
Result<std::unique_ptr<TextRows>> open_parquet(const std::string& path, const ReadOptions& options);

}  // namespace kw::table
