// RunLock: one program at a time writes a run.
#pragma once

#include <filesystem>

#include "base/fd.h"
#include "base/result.h"

namespace kw::store {

// Held until it goes out of scope or the process ends, however it ends.
class RunLock {
 public:
  // The lock is on run.db.lock, which holds the owner's process id and stays behind. An error names the
  // owner.
  static Result<RunLock> take(const std::filesystem::path& database);

 private:
  explicit RunLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace kw::store
