// Clones one commit of a repository into a cache.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/core/result.h"
#include "dataset/fetch/git_command.h"
#include "dataset/fetch/git_source.h"

namespace kw::fetch {

struct CloneSettings {
  std::filesystem::path cache;  // a commit that is there is not fetched again
  GitLimits limits;
  std::function<bool()> stop;
};

struct Clone {
  std::filesystem::path folder;  // a checkout; its name is that of the repository
  std::string commit;
  std::string pinned;  // URL@COMMIT
};

// Resolves a branch, a tag or HEAD to its commit, fetches this commit without its history, and checks its
// files out. The error names URL and cause.
Result<Clone> clone(const GitSource& source, const CloneSettings& settings);

}  // namespace kw::fetch
