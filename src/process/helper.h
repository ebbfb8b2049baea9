// A helper process whose standard output is read to its end.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "process/child.h"

namespace kw::process {

// Killed and reaped when it goes out of scope before it finished.
class Helper {
 public:
  Helper(Child child, Fd errors) : child_(std::move(child)), errors_(std::move(errors)) {}

  // Waits for its end; an error with the last line it wrote on standard error unless it ended with 0.
  Result<> finish();

 private:
  Child child_;
  Fd errors_;
};

// What a helper writes on standard error: kept for finish(), or shown to the user as it comes.
enum class HelperErrors { kept, shown };

// The helper and its standard output. It has our environment, and Ctrl-C in the terminal ends it too.
Result<std::pair<Helper, Fd>> start_helper(const std::vector<std::string>& argv,
                                           HelperErrors where = HelperErrors::kept);

// A pipe: the end to read from, and the one to write to.
Result<std::pair<Fd, Fd>> make_pipe();

// A file in memory that takes what a child writes on standard error, and the last line that came.
Result<Fd> errors_file();
std::string last_line(const Fd& errors);

}  // namespace kw::process
