// Names in archives, which may be anything.
#pragma once

#include <string>
#include <string_view>

namespace kw::collect {

struct SafePath {
  std::string path;    // with '/', relative, without "." in it
  std::string reason;  // empty: the path is good; else "bad name" or "leads outside"
};

SafePath safe_path(std::string_view name);

}  // namespace kw::collect
