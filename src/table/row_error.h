// A row that cannot be used: an answer like a row, so that the good rows after it still count.
#pragma once

#include <cstddef>
#include <string>

namespace kw {

struct RowError {
  std::string file;
  std::size_t row = 0;  // from 1; 0: the whole file
  std::string what;
  std::string remedy;
};

// "tasks.jsonl, row 3: not JSON ... (remedy)"
std::string describe(const RowError& error);

}  // namespace kw
