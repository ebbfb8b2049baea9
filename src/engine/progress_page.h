// A page shared with a runner, in which it says where it is: read after it hung or died.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/fd.h"

namespace kw::engine {

class ProgressPage {
 public:
  static Result<ProgressPage> create();
  ProgressPage(ProgressPage&& other) noexcept
      : fd_(std::move(other.fd_)), words_(std::exchange(other.words_, nullptr)) {}
  ProgressPage& operator=(ProgressPage&&) = delete;
  ~ProgressPage();

  int fd() const { return fd_.get(); }
  bool in_launch() const { return word(1) != 0; }

 private:
  ProgressPage(Fd fd, std::uint64_t* words) : fd_(std::move(fd)), words_(words) {}
  std::uint64_t word(std::size_t index) const;  // the layout is python/kernelwright/launches.py's

  Fd fd_;
  std::uint64_t* words_;
};

}  // namespace kw::engine
