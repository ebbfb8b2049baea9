// Edition: one state of an index, with the facts of it that the server itself needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/core/result.h"

namespace kw::view {

struct RowFacts {
  std::string key;
  std::string status;       // of its stratum: its standing, else its status
  std::string task_source;  // of its stratum
  std::size_t source = 0;   // index of the input
};

struct Edition {
  std::uint64_t version = 0;
  std::string index;  // JSON
  std::string etag;   // with its quotes
  std::string state;  // "unfinished" if an input is; else that of the worst input
  std::vector<RowFacts> rows;
};

// An error if the text is not an index.
Result<Edition> make_edition(std::string index, std::uint64_t version);

}  // namespace kw::view
