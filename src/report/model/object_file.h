// ObjectFile: the JSON objects of a file with their places: a list, one object a line, or consecutive
// objects. A bad object is an item, so that later ones are still read.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/core/files.h"
#include "base/core/result.h"

namespace kw::report {

inline constexpr std::size_t largest_object_bytes = std::size_t{64} << 20;

struct ObjectPlace {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

struct PlacedObject {
  std::size_t number = 0;  // from 1
  ObjectPlace place;
  Result<boost::json::object> fields;
};

class ObjectFile {
 public:
  static Result<ObjectFile> open(const std::string& path);
  ObjectFile(ObjectFile&&) noexcept;
  ObjectFile& operator=(ObjectFile&&) noexcept;
  ~ObjectFile();

  // Empty at the end. After an error there are no more.
  Result<std::optional<PlacedObject>> next();

 private:
  struct State;
  explicit ObjectFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Calls `take` with each object. An unreadable file, or a fault after which there are no more objects, goes
// to `damaged`; an error of `take` ends the reading.
Result<> each_object(const std::string& path, const std::function<Result<>(PlacedObject)>& take,
                     const std::function<void(const Error&)>& damaged);

// The object at a place; an error if the file has changed.
Result<boost::json::object> read_object(const std::string& path, const ObjectPlace& place);

}  // namespace kw::report
