// Reads reference texts from rows.
#pragma once

#include <functional>
#include <string>

#include "base/core/result.h"
#include "base/rows/row_reader.h"

namespace kw::leak {

// Calls `add` with the name and text of each row: prompt and completion as one text, else each column with
// code. Skips rows without either; a bad row is an error that names it.
Result<> read_reference_rows(const std::string& path, const ParquetHelper& parquet,
                             const std::function<void(const std::string& row, std::string text)>& add);

}  // namespace kw::leak
