// JSON lines: written completely or not at all, read line by line.
#pragma once

#include <boost/json/object.hpp>
#include <filesystem>
#include <functional>

#include "base/core/files.h"
#include "base/core/result.h"

namespace kw::dataset {

class JsonlWriter {
 public:
  static Result<JsonlWriter> create(const std::filesystem::path& path);
  Result<> write(const boost::json::object& row);
  Result<> finish() { return file_.finish(); }

 private:
  explicit JsonlWriter(NewFile file) : file_(std::move(file)) {}
  NewFile file_;
};

// Calls `each` for every line, with its byte offset and its length; stops at the first error.
using EachLine = std::function<Result<>(std::string line, std::uint64_t begin)>;
Result<> each_line(const std::filesystem::path& path, const EachLine& each);

// Parses a line as an object.
Result<boost::json::object> object_of(std::string_view line, const std::filesystem::path& path);

}  // namespace kw::dataset
