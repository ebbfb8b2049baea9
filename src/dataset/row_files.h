// Several files of rows as one list.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "table/rows.h"

namespace kw::dataset {

class RowFiles {
 public:
  using EachRow = std::function<Result<>(std::uint32_t number, table::TextRow row)>;
  using EachBad = std::function<void(const RowError& error)>;

  // Reads the file to its end; its rows are numbered on from those before.
  Result<> add(const std::string& path, const table::ReadOptions& options, const EachRow& each,
               const EachBad& bad);

  std::uint32_t count() const { return first_.empty() ? 0 : first_.back() + last_count_; }
  // "rows.csv, row 3": counted from 1 among the file's good rows.
  std::string name(std::uint32_t number) const;
  // May be called from several threads.
  Result<table::TextRow> at(std::uint32_t number) const;
  Result<std::string> raw(std::uint32_t number) const;
  const table::TextRows& file_of(std::uint32_t number) const { return *files_[index_of(number)]; }
  std::size_t files() const { return files_.size(); }
  const table::TextRows& file(std::size_t index) const { return *files_[index]; }

 private:
  std::size_t index_of(std::uint32_t number) const;

  std::vector<std::unique_ptr<table::TextRows>> files_;
  std::vector<std::uint32_t> first_;  // number of each file's first row
  std::uint32_t last_count_ = 0;
};

}  // namespace kw::dataset
