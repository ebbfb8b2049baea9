// `dataset audit`: flags rows that resemble a benchmark, each other, or themselves.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/rows/rows.h"
#include "dataset/build/build.h"
#include "dataset/build/row_sink.h"

namespace kw::dataset {

struct AuditSettings {
  std::vector<std::string> files;
  std::vector<std::string> validation;  // files whose rows must not resemble those of `files`
  std::vector<std::string> against;     // benchmarks
  std::filesystem::path out;            // a folder for flags.jsonl and review.csv; empty: neither
  bool between_rows = true;
  unsigned threads = 1;
  std::uint64_t memory_bytes = std::uint64_t{2} << 30;
  leak::Thresholds leak;
  near::Parameters near;
  table::ReadOptions read;
  std::filesystem::path spill;
};

struct AuditTally {
  std::uint64_t rows = 0;
  std::uint64_t bad_rows = 0;
  std::vector<BenchmarkFacts> benchmarks;  // by name; empty: not checked
  std::uint64_t flagged = 0;               // rows with at least one flag
  Counts relations;                        // rows by relation
  double seconds = 0;
  std::vector<Flagged> flags;    // by row
  std::vector<std::string> bad;  // messages of the first few
};

Result<AuditTally> audit(const AuditSettings& settings, const Watch& watch);

}  // namespace kw::dataset
