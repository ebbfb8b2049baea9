// `dataset dedup`: removes exact and near duplicates from files of rows.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/core/words.h"
#include "base/rows/rows.h"
#include "code/similarity/near.h"
#include "dataset/build/build.h"

namespace kw::dataset {

BOOST_DEFINE_ENUM_CLASS(Keep, first, longest)

struct DedupSettings {
  std::vector<std::string> files;    // rows to write, in this order
  std::vector<std::string> against;  // duplicates of their rows are dropped from `files`
  std::filesystem::path out;         // .csv, .jsonl or .parquet
  std::filesystem::path evidence;    // JSON lines: each dropped row, and the row kept in its place
  std::filesystem::path index;       // stores sketches for the next use; empty: none
  std::filesystem::path spill;       // a folder for temporary files
  Keep keep = Keep::first;
  bool near_too = true;  // else exact duplicates only
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
  std::uint64_t renamed = 0;  // equal but for comments, layout and names
  std::uint64_t near = 0;
  std::uint64_t clusters = 0;
  std::uint64_t kept = 0;
  std::uint64_t bytes = 0;           // of prompts and completions
  std::uint64_t sketched_bytes = 0;  // without those in the index
  near::JoinTally join;
  std::vector<Stage> stages;
  std::vector<std::string> bad;  // messages of the first few
};

// Two rows are exact duplicates if their keys are equal (dataset/units/row.h), and renamed ones if only
// comments, layout and names differ (renamed_rows.h). They are near duplicates
// if both the Jaccard index of prompt and completion together and that of the completions alone reach the
// threshold. Every dropped row has such a duplicate among the kept rows.
Result<DedupTally> dedup(const DedupSettings& settings, const Watch& watch);

}  // namespace kw::dataset
