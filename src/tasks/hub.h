// Data sets of the Hugging Face hub, by way of its Python library: its cache, its offline mode.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "table/row_reader.h"

namespace kw {

struct HubRequest {
  std::string name;      // "kernelbook" or "kernelbench"
  std::string revision;  // a branch, tag or commit; empty: the newest
  std::set<int> levels;  // of KernelBench; empty: all
};

// The data set's Parquet files on this machine, downloaded where they are not in the cache. An error says
// what to copy where. Progress is shown on standard error.
Result<std::vector<std::string>> hub_files(const HubRequest& request, const ParquetHelper& helper);

// "REVISION" of "hub@REVISION", empty for "hub", nothing for a path.
std::optional<std::string> hub_revision(std::string_view text);

}  // namespace kw
