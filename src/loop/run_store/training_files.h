// Writes training rows as files, with a dataset card.
#pragma once

#include <filesystem>
#include <string>

#include "base/core/result.h"
#include "loop/run_store/run_reader.h"
#include "loop/run_store/training_rows.h"

namespace kw::store {

// One row per line; one JSON list for the extension .json. Writes nothing if there are no rows. Rows keep
// the order of their traces, except that rows with a column's first value come first, since readers of JSON
// lines infer types from the first rows. Equal traces give equal bytes.
Result<Tally> write_training(TraceReader& reader, const std::filesystem::path& path,
                             const TrainingOptions& options);

// "4 wrong, 2 not fast_1", the most frequent first; empty if nothing was omitted.
std::string left_out_in_words(const Tally& tally);

// A dataset card in Markdown with front matter, for the file of that name.
std::string dataset_card(const std::string& file_name, const TrainingOptions& options, const Tally& tally,
                         const std::string& program_version);

}  // namespace kw::store
