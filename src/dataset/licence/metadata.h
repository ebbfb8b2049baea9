// The fields of a Python package's METADATA or PKG-INFO.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kw::licence {

struct PackageField {
  std::string_view key;  // "Name"; lies in the bytes that were read
  std::string value;     // lines joined by "\n", each without blanks at its ends

  std::string_view first_line() const { return std::string_view(value).substr(0, value.find('\n')); }
};

// Headers as in mail: a line that begins with a blank continues the previous one. The body has no headers.
std::vector<PackageField> package_fields(std::string_view bytes);

}  // namespace kw::licence
