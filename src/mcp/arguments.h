// The arguments of a tool: one table gives the JSON schema that agents read and the check of each call.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace kw::mcp {

struct Argument {
  enum class Kind { text, flag, whole, object };

  std::string name;
  Kind kind = Kind::text;
  std::string description;
  bool is_required = false;
  std::size_t most_bytes = 1'000;  // of a text
  std::int64_t least = 0;          // of a whole number
  std::int64_t most = INT32_MAX;
  std::vector<std::string> words{};  // of a closed set; empty: any text
  boost::json::object properties{};  // of an object with these members alone; empty: any object
};

class Arguments {
 public:
  Arguments(std::string tool, std::vector<Argument> arguments)
      : tool_(std::move(tool)), arguments_(std::move(arguments)) {}

  // As JSON Schema 2020-12, without other members.
  boost::json::object schema() const;

  // The arguments that were given, without those that are null. The error names the first that is unknown,
  // missing or of another form, with what is allowed.
  Result<boost::json::object> read(const boost::json::object& given) const;

 private:
  const Argument* find(std::string_view name) const;
  std::string names() const;

  std::string tool_;
  std::vector<Argument> arguments_;
};

}  // namespace kw::mcp
