// The circumstances under which rows were judged, as counts of the values of their columns.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/model/index.h"

namespace kw::report {

class Circumstances {
 public:
  // Of a value that is not recorded, the text is empty.
  void add(const Rows& rows, std::size_t row);

  std::size_t rows() const { return rows_; }
  // "GPU NVIDIA H200"; "trust replay (8), in-process (2)"; "dtype not recorded".
  std::string words(std::string_view name) const;
  bool is_recorded(std::string_view name) const;
  // All of these, separated by "; ".
  std::string words(const std::vector<std::string_view>& names) const;

  // "12 tasks from kernelbench level 1 (8), sample (4)"
  std::string tasks_words() const;

 private:
  using Counts = std::map<std::string, std::size_t>;
  std::size_t rows_ = 0;
  std::map<std::string, Counts, std::less<>> values_;  // name → value → rows
  std::map<std::string, std::string> origin_of_task_;
};

// "a (3), b (2), c (1) and 4 more": the most frequent first.
std::string counts_in_words(const std::map<std::string, std::size_t>& counts);

}  // namespace kw::report
