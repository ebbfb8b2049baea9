// Writes the rows of a build as files, publishes the files of a folder together, and converts them later
// (`dataset export`). One build at a time may use the state folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/core/files.h"
#include "base/core/result.h"
#include "base/rows/rows.h"
#include "dataset/build/build.h"
#include "dataset/build/python.h"
#include "dataset/build/similar_units.h"
#include "dataset/build/unit_store.h"
#include "types/review.h"

namespace kw::dataset {

// Refuses a folder with files that no build made: a build replaces and removes files by name. A missing or
// empty folder, the output of a build and the folder of an interrupted one pass.
Result<> check_output(const BuildSettings& settings);

// Files are written to a hidden folder inside the target and moved into place at the end. The destructor
// removes unpublished files.
class Staging {
 public:
  explicit Staging(std::filesystem::path target);
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging();

  Result<> make();
  const std::filesystem::path& folder() const { return folder_; }
  Result<> publish();

 private:
  std::filesystem::path target_;
  std::filesystem::path folder_;
};

// Creates the state folder and locks it for a build.
class StateLock {
 public:
  static Result<StateLock> take(const std::filesystem::path& state);

 private:
  explicit StateLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

// Writes KIND_sft.csv and KIND_sft.meta.jsonl, both also with _validation, KIND.jsonl, and Parquet files
// under data/, from the rows in `rows` (JSON lines) with the token counts in `counts` (empty: none). Adds to
// facts.rows. Returns the data files for the card.
Result<std::vector<CardConfig>> write_rows(const std::filesystem::path& rows,
                                           const std::filesystem::path& counts, const BuildSettings& settings,
                                           const std::filesystem::path& folder, BuildSummary& facts);

// duplicates.jsonl: every unit that was dropped as a duplicate, and the similarity; left_out.jsonl: units
// with an unknown or not allowed licence.
Result<> write_left_out(const UnitStore& units, const std::vector<UnitFate>& fates,
                        const std::filesystem::path& folder);

// `dataset export`: converts rows of a build or of any file of rows.
struct ExportSettings {
  std::string source;               // the folder of a build, or a file of rows
  std::filesystem::path out;        // .csv, .jsonl or .parquet
  std::vector<std::string> kinds;   // of a build; empty: all that are there
  std::string split;                // empty: both
  std::vector<std::string> labels;  // all must be true: "compilable", "self_contained", ...
  bool metadata = false;            // every column, not just the two
  bool messages = false;
  bool without_flags = false;               // rows with an empty list of leaks
  ReviewLabels reviews = {};                // of people, by the rows' ids; with --metadata a column "review"
  std::vector<ReviewLabel> leave_out = {};  // rows with one of these labels
  table::ReadOptions read;
  std::filesystem::path spill;
  PythonTools python;
};

struct ExportTally {
  std::uint64_t rows = 0;
  std::uint64_t written = 0;
  std::uint64_t bad_rows = 0;
  std::vector<std::string> bad;  // messages of the first few
};

// A filter on split or label is an error for a file without metadata.
Result<ExportTally> export_rows(const ExportSettings& settings);

}  // namespace kw::dataset
