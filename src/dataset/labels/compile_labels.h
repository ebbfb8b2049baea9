// The Python process that compiles: jobs go in as lines, replies come out as lines.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/core/files.h"
#include "base/core/result.h"
#include "base/process/child.h"
#include "dataset/labels/labels.h"

namespace kw::labels {

// The process to start: `python -m kernelwright._dataset.label_server ARGUMENTS`.
struct HelperOptions {
  std::string python;
  std::vector<std::string> python_path;  // where our package lies
  std::string native;                    // where libkwsandbox.so lies
  std::vector<std::string> arguments;
  std::function<bool()> stop;
};

// The destructor kills and reaps it and its children.
class Helper {
 public:
  // Waits until it is warm.
  static Result<Helper> start(const HelperOptions& options);
  // One that compiles kernels.
  static Result<Helper> start(const CompileOptions& options);

  Helper(Helper&& other) = default;
  Helper& operator=(Helper&&) = delete;
  ~Helper();

  // "3.6.0"
  const std::string& triton() const { return triton_; }

  // Sends lines from `next` to the helper in a separate thread until there are no more; call it once.
  void feed(std::function<std::optional<std::string>()> next);

  // The next line without its newline; empty at the end; an error if `stop` returns true.
  Result<std::optional<std::string>> line(const std::function<bool()>& stop);

  // The last line on its standard error.
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
