// The files that the verbs of `dataset` write, where there is a file already. Rows carry no mark of their
// program, so an earlier file of rows is renamed to NAME.1 and never lost; any other file is refused.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "options/dataset_flags.h"

namespace kw::app {

// Whether the extension is that of a file of rows: a wrong one is a usage error.
Result<> check_row_extension(const std::string& out);

// Checks before any work, and before the scratch folder beside the output.
Result<> check_written(const DatasetDedupFlags& flags);
Result<> check_written(const DatasetAuditFlags& flags);
Result<> check_written(const DatasetExportFlags& flags);

// Moves a finished file of rows into place. An earlier file is renamed with a note, except where a list of
// duplicates beside it shows that `dataset dedup` wrote it.
Result<> publish_rows(const std::filesystem::path& made, const std::filesystem::path& out);

// "ROWS.duplicates.jsonl", which `dataset dedup` writes beside its rows.
std::filesystem::path evidence_beside(const std::filesystem::path& out);

}  // namespace kw::app
