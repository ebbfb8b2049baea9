// `dataset dedup`: files of rows without their exact and near duplicates.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "dataset/build.h"
#include "near/near.h"
#include "table/rows.h"

namespace kw::dataset {

enum class Keep { first, longest };

struct DedupSettings {
  std::vector<std::string> files;    // what is written, in this order
  std::vector<std::string> against;  // what these have is dropped from `files`
  std::filesystem::path out;         // .csv, .jsonl or .parquet
  std::filesystem::path evidence;    // JSON lines: what was dropped, and for which row
  std::filesystem::path index;       // sketches are kept here for the next time; empty: they are not
  std::filesystem::path spill;       // a folder of ours for what does not fit into memory
  Keep keep = Keep::first;
  bool near_too = true;
  unsigned threads = 1;
  std::uint64_t memory_bytes = std::uint64_t{2} << 30;
  near::Parameters near;
  table::ReadOptions read;
  PythonTools python;
};

struct DedupTally {
  std::uint64_t rows = 0;  // of `files`
  std::uint64_t rows_against = 0;
  std::uint64_t bad_rows = 0;
  std::uint64_t exact = 0;
  std::uint64_t near = 0;
  std::uint64_t clusters = 0;
  std::uint64_t kept = 0;
  std::uint64_t bytes = 0;           // of prompts and completions
  std::uint64_t sketched_bytes = 0;  // the rest was known from the index
  near::JoinTally join;
  std::vector<Stage> stages;
  std::vector<std::string> bad;  // the first few, in words
};

// Two rows are exact duplicates when their keys are equal (corpus/normalise.h), near duplicates when the
// Jaccard index of prompt and completion together, and that of the completions alone, are at or over the
// threshold. Every row that is dropped has such a row that is kept.
Result<DedupTally> dedup(const DedupSettings& settings, const Watch& watch);

}  // namespace kw::dataset
