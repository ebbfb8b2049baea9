// FileLock: one program at a time works on a file.
#pragma once

#include <filesystem>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace kw::sqlite {

// Held until it goes out of scope or the process ends, however it ends.
class FileLock {
 public:
  // How a message calls the file ("run x.run"), and what its user can do while another program has it.
  struct Words {
    std::string name;
    std::string remedy;
  };

  // The lock is on FILE.lock, which holds the owner's process id and stays behind. An error names the owner.
  static Result<FileLock> take(const std::filesystem::path& file, const Words& words);

 private:
  explicit FileLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace kw::sqlite
