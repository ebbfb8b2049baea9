// Runs the system's git on a repository that is not trusted: without a shell, hooks, prompts, credential
// helpers, filters, submodules and the user's configuration, and within limits.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/core/result.h"

namespace kw::fetch {

struct GitLimits {
  std::uint64_t bytes = std::uint64_t{8} << 30;  // of the folder: objects and files together
  std::chrono::seconds time{1'800};              // of one repository
};

struct GitSettings {
  bool is_local = false;  // the file transport is allowed, and no other
  GitLimits limits;
  std::filesystem::path folder;  // absolute; git runs in it, and its size is limited
  std::function<bool()> stop;    // asked while git runs
};

class Git {
 public:
  explicit Git(GitSettings settings);

  // The standard output of `git ARGUMENTS`. The error is the last line of its standard error, or the limit
  // that it exceeded.
  Result<std::string> run(const std::vector<std::string>& arguments) const;

 private:
  Result<> check() const;

  GitSettings settings_;
  std::chrono::steady_clock::time_point deadline_;
  std::vector<std::string> environment_;
};

}  // namespace kw::fetch
