// Rows to train on as files, and a card that says what they are.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "store/trace_reader.h"
#include "store/training_rows.h"

namespace kw::store {

// One row a line; for a name that ends with .json one JSON list. Nothing is written where there are no rows.
// Rows keep the order of their traces, but for those in which a column has its first value: they stand in
// front, since readers of JSON lines settle on types by what they see there. The same traces give the same
// bytes.
Result<Tally> write_training(TraceReader& reader, const std::filesystem::path& path,
                             const TrainingOptions& options);

// "4 wrong, 2 not fast_1", the most frequent first; empty where nothing was left out.
std::string left_out_in_words(const Tally& tally);

// A dataset card in Markdown with front matter, for the file with that name.
std::string dataset_card(const std::string& file_name, const TrainingOptions& options, const Tally& tally,
                         const std::string& program_version);

}  // namespace kw::store
