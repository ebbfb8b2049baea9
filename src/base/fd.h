// Owned file descriptors and memory files.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace kw {

// Closes what it owns. -1 owns nothing.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1);
  Result<Fd> duplicate() const;

 private:
  int fd_ = -1;
};

// A sealed, read-only memory file with these bytes: how code travels to other processes.
Result<Fd> memory_file(std::string_view name, std::string_view bytes);

// The bytes of a memory file, at most max_bytes of them; more is an error.
Result<std::string> read_memory_file(const Fd& fd, std::size_t max_bytes);

}  // namespace kw
