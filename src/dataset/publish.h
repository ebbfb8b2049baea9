// A folder of files that changes all at once, and one build in it at a time.
#pragma once

#include <filesystem>

#include "base/fd.h"
#include "base/result.h"

namespace kw::dataset {

// Files are written to a hidden neighbour within the folder and moved into place at the end. What is not
// published goes with this.
class Staging {
 public:
  explicit Staging(std::filesystem::path target);
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging();

  Result<> make();
  const std::filesystem::path& folder() const { return folder_; }
  Result<> publish();

 private:
  std::filesystem::path target_;
  std::filesystem::path folder_;
};

// Held while a build uses the state folder, which it makes.
class StateLock {
 public:
  static Result<StateLock> take(const std::filesystem::path& state);

 private:
  explicit StateLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace kw::dataset
