// A ZIP archive that is written as a stream: only its list of members is in memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace kw::exports {

// The archive has its name only after finish(). Equal members give equal bytes: all have one time stamp.
class ZipFile {
 public:
  static Result<ZipFile> create(const std::filesystem::path& path);
  ZipFile(ZipFile&&) noexcept;
  ~ZipFile();

  // `name` is ASCII.
  Result<> add(const std::string& name, std::string_view bytes);
  // The first `size` bytes of a file, read in pieces.
  Result<> add_file(const std::string& name, const std::filesystem::path& file, std::uint64_t size);
  Result<> finish();

 private:
  struct State;
  explicit ZipFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kw::exports
