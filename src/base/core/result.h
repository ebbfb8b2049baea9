// Result<T>: a value, or an Error with the failure, its place and a remedy.
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace kw {

struct Error {
  std::string what;    // "cannot read tasks.jsonl: no such file"
  std::string remedy;  // "give the path of ...", or empty
};

template <typename T = void>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(std::string what, std::string remedy = {}) {
  return std::unexpected(Error{std::move(what), std::move(remedy)});
}

}  // namespace kw
