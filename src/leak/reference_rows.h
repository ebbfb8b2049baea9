// Texts to compare with, out of rows.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "table/row_reader.h"

namespace kw::leak {

// Calls `add` with the name and text of whatever a row holds: prompt and completion as one text, else each
// column with code. A row without any is passed over; a bad row is an error that names it.
Result<> read_reference_rows(const std::string& path, const ParquetHelper& parquet,
                             const std::function<void(const std::string& row, std::string text)>& add);

}  // namespace kw::leak
