// Which sources a build has: what was named, what was fetched, and what an earlier build had.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "dataset/build.h"

namespace kw::dataset {

struct Sources {
  std::vector<std::string> trees;  // folders, checkouts, archives
  std::vector<std::string> runs;   // runs and exported traces
};

// Fetches packages into the state. With `add`, the sources of the last build come first.
Result<Sources> find_sources(const BuildSettings& settings);

// For the next build with `add`.
Result<> remember(const Sources& sources, const BuildSettings& settings);

}  // namespace kw::dataset
