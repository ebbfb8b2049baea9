// A repository as `dataset build --git URL[@REVISION]` names it.
#pragma once

#include <string>
#include <string_view>

#include "base/core/result.h"

namespace kw::fetch {

struct GitSource {
  std::string url;       // https://..., ssh://..., user@host:path, file:///..., or an absolute path
  std::string revision;  // a full commit, a branch or a tag; empty: the repository's HEAD
  bool is_local = false;

  // The last part of the URL without ".git".
  std::string name() const;
};

// Refuses URLs that begin with '-', transports other than https, ssh and local paths, and credentials in an
// https URL. The text is not trusted.
Result<GitSource> parse_git_source(std::string_view text);

// Whether the text is a full commit: 40 or 64 lowercase hexadecimal digits.
bool is_full_commit(std::string_view text);

}  // namespace kw::fetch
