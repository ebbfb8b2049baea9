// The rows of a build as the files of its folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "dataset/build.h"
#include "dataset/duplicates.h"
#include "dataset/unit_store.h"

namespace kw::dataset {

// KIND_sft.csv and KIND_sft.meta.jsonl, the same with _validation, KIND.jsonl, and Parquet files under data/,
// of the rows in `rows` (JSON lines) with the token counts in `counts` (empty: none). Adds to facts.rows; the
// data files that the card names.
Result<std::vector<CardConfig>> write_rows(const std::filesystem::path& rows,
                                           const std::filesystem::path& counts, const BuildSettings& settings,
                                           const std::filesystem::path& folder, Facts& facts);

// duplicates.jsonl: every unit that was left out for another, and how alike they are; left_out.jsonl: units
// whose licence is unknown or not allowed.
Result<> write_left_out(const UnitStore& units, const std::vector<UnitFate>& fates,
                        const std::filesystem::path& folder);

}  // namespace kw::dataset
