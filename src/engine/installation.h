// Where the parts of this installation lie: found from the program's own path, in a build tree and in the
// portable tarball alike.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw::engine {

struct Installation {
  std::filesystem::path program;
  std::filesystem::path native;    // holds libkwconfine.so
  std::filesystem::path replayer;  // empty where it was not built: see records()
  std::filesystem::path recorder;
  std::vector<std::filesystem::path> python_path;  // our package, the generated wire code, bundled runtimes
};

// Whether GPU verdicts can be recorded and replayed: both parts are built where CUDA's headers are found.
bool records(const Installation& installation);

Result<Installation> find_installation();

}  // namespace kw::engine
