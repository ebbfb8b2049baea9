// Receives new rows: drops equal ones, applies reviewers' decisions, searches for leaks.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/core/result.h"
#include "dataset/build/build.h"
#include "dataset/build/jsonl.h"
#include "dataset/build/ordered.h"
#include "dataset/build/review.h"
#include "dataset/leakage/leak.h"
#include "dataset/units/row.h"

namespace kw::dataset {

// Leaks of one row: its similarity to benchmarks, and between its prompt and completion.
std::vector<corpus::Leak> row_leaks(std::string_view prompt, std::string_view completion,
                                    const leak::Index& benchmarks, const leak::Thresholds& thresholds);

// Sorts the flags of a row, the strongest first: by the larger of their two measures.
void sort_leaks(std::vector<corpus::Leak>& leaks);

// A row over the thresholds against a benchmark or itself.
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

  // A row's id is its key. Rows are written in order of arrival.
  void add(corpus::Row row);
  Result<> finish();

  std::uint64_t exact() const { return exact_; }
  const Counts& reviewed() const { return reviewed_; }
  std::uint64_t held() const { return held_; }
  const std::vector<Flagged>& flagged() const { return flagged_; }
  std::uint64_t bytes() const { return bytes_; }
  // Units of which a row was added, pairs' second units among them.
  const std::unordered_set<std::string>& units() const { return units_; }
  // A row that could not be made; the reason is counted.
  void leave_out(const std::string& why, std::uint64_t rows = 1) { left_out_[why] += rows; }
  const Counts& left_out() const { return left_out_; }
  void note_unit(const std::string& id) { units_.insert(id); }

 private:
  corpus::Row look(corpus::Row row) const;
  void take(const corpus::Row& row);

  const BuildSettings& settings_;
  const Review& review_;
  const leak::Index& benchmarks_;
  JsonlWriter rows_;
  std::unordered_set<std::string> ids_;
  std::unordered_set<std::string> units_;
  Counts left_out_;
  std::uint64_t exact_ = 0;
  std::uint64_t held_ = 0;
  std::uint64_t bytes_ = 0;
  Counts reviewed_;
  std::vector<Flagged> flagged_;
  Result<> outcome_;
  Ordered<corpus::Row, corpus::Row> pool_;
};

}  // namespace kw::dataset
