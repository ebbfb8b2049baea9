// The files of rows that are trained on, told apart by what they hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw::training {

struct DataFile {
  std::string path;  // absolute
  std::uint64_t bytes = 0;
  std::string sha256;  // of its bytes, lower-case hex
};

// An error for a file that is not there, is no plain file, is empty, cannot be read, or is named twice.
Result<std::vector<DataFile>> look_at_files(const std::vector<std::string>& paths);

}  // namespace kw::training
