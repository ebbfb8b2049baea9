// The Python process that compiles: jobs go in as lines, replies come out as lines.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "base/fd.h"
#include "base/result.h"
#include "labels/labels.h"
#include "process/helper.h"

namespace kw::labels {

// Killed and reaped, and its children with it, when it goes out of scope.
class Helper {
 public:
  // Waits until it is warm.
  static Result<Helper> start(const CompileOptions& options);

  Helper(Helper&& other) = default;
  Helper& operator=(Helper&&) = delete;
  ~Helper();

  // "3.6.0"
  const std::string& triton() const { return triton_; }

  // Feeds the helper from a thread of its own until `next` gives no more lines; call it once.
  void feed(std::function<std::optional<std::string>()> next);

  // The next line without its newline; nothing at the end; an error when `stop` says so.
  Result<std::optional<std::string>> line(const std::function<bool()>& stop);

  // The last line it wrote on standard error.
  std::string last_error() const;

 private:
  Helper() = default;

  std::optional<process::Child> child_;
  Fd jobs_;
  Fd replies_;
  Fd errors_;
  std::string triton_;
  std::string buffer_;
  std::size_t searched_ = 0;  // of the buffer, without finding a newline
  std::thread feeder_;
};

}  // namespace kw::labels
