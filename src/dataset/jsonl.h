// JSON lines: written whole or not at all, read line by line.
#pragma once

#include <boost/json/object.hpp>
#include <filesystem>
#include <functional>

#include "base/new_file.h"
#include "base/result.h"

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

// Calls each for every line, with the byte at which it begins and its length; ends at the first error.
using EachLine = std::function<Result<>(std::string line, std::uint64_t begin)>;
Result<> each_line(const std::filesystem::path& path, const EachLine& each);

// The object that a line holds.
Result<boost::json::object> object_of(std::string_view line, const std::filesystem::path& path);

}  // namespace kw::dataset
