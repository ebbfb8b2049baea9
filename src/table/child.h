// A helper process whose standard output is read to its end.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace kw {

// Killed and reaped when it goes out of scope before it finished.
class Child {
 public:
  Child(pid_t pid, Fd errors) : pid_(pid), errors_(std::move(errors)) {}
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)), errors_(std::move(other.errors_)) {}
  Child& operator=(Child&&) = delete;
  ~Child();

  // Waits for its end; an error with the last line it wrote on standard error unless it ended with 0.
  Result<> finish();

 private:
  std::string last_error() const;

  pid_t pid_;
  Fd errors_;
};

// What a child writes on standard error: kept for finish(), or shown to the user as it comes.
enum class ChildErrors { kept, shown };

// The child and its standard output. The argv goes to the program as it is: no shell.
Result<std::pair<Child, Fd>> start_child(const std::vector<std::string>& argv,
                                         ChildErrors where = ChildErrors::kept);

}  // namespace kw
