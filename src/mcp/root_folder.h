// RootFolder: files below one folder that a client may name. A client's path is hostile.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/core/files.h"
#include "base/core/result.h"

namespace kw::mcp {

class RootFolder {
 public:
  // The error names the folder.
  static Result<RootFolder> open(const std::string& path);

  // The UTF-8 text of a regular file of at most `most_bytes`. The path is relative to the folder, or absolute
  // and begins with it. Each part is opened by itself and must not be "..", hidden by a symbolic link, or a
  // special file; so a file that is replaced meanwhile leads nowhere else.
  Result<std::string> read(std::string_view path, std::size_t most_bytes) const;

  const std::filesystem::path& path() const { return path_; }

 private:
  RootFolder(std::filesystem::path path, Fd folder) : path_(std::move(path)), folder_(std::move(folder)) {}

  std::filesystem::path path_;  // absolute, without symbolic links
  Fd folder_;
};

}  // namespace kw::mcp
