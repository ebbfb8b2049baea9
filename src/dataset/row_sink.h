// Where rows go as they are made: equal ones are dropped, people's decisions are honoured, leakage is looked
// for.
#pragma once

#include <filesystem>
#include <memory>
#include <unordered_set>

#include "base/result.h"
#include "dataset/build.h"
#include "dataset/jsonl.h"
#include "dataset/ordered.h"
#include "dataset/review.h"

namespace kw::dataset {

// A row over the thresholds against a benchmark, or with itself.
struct Flagged {
  std::string id;
  corpus::RowKind kind = corpus::RowKind::fim;
  std::string source;
  std::vector<corpus::Leak> leaks;
};

class RowSink {
 public:
  RowSink(const BuildSettings& settings, const Review& review, const leak::Index& benchmarks,
          JsonlWriter rows);

  // The row's id is its key. Rows are written in the order in which they come.
  void add(corpus::Row row);
  Result<> finish();

  std::uint64_t exact() const { return exact_; }
  const Counts& reviewed() const { return reviewed_; }
  std::uint64_t held() const { return held_; }
  const std::vector<Flagged>& flagged() const { return flagged_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  corpus::Row look(corpus::Row row) const;
  void take(const corpus::Row& row);

  const BuildSettings& settings_;
  const Review& review_;
  const leak::Index& benchmarks_;
  JsonlWriter rows_;
  std::unordered_set<std::string> ids_;
  std::uint64_t exact_ = 0;
  std::uint64_t held_ = 0;
  std::uint64_t bytes_ = 0;
  Counts reviewed_;
  std::vector<Flagged> flagged_;
  Result<> outcome_;
  Ordered<corpus::Row, corpus::Row> pool_;
};

}  // namespace kw::dataset
