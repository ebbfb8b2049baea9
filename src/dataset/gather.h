// One source → its units in the state folder.
#pragma once

#include <string>

#include "base/result.h"
#include "dataset/build.h"
#include "dataset/source_state.h"

namespace kw::dataset {

struct Gathered {
  SourceFacts facts;
  SourceFiles files;
  double collect_seconds = 0;  // reading, unpacking, licences and parsing
  double link_seconds = 0;
};

// Reads the source unless its units are in the state already.
Result<Gathered> gather(const std::string& path, const BuildSettings& settings, const Watch& watch);

}  // namespace kw::dataset
