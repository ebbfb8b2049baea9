#include "licence/package_fields.h"

#include <algorithm>

#include "base/text.h"

namespace kw::licence {

std::vector<PackageField> package_fields(std::string_view bytes) {
  std::vector<PackageField> fields;
  bool goes_on = false;
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) break;
    if (line.front() == ' ' || line.front() == '\t') {
      if (goes_on) fields.back().value.append("\n").append(trim(line));
      continue;
    }
    const std::size_t colon = line.find(':');
    goes_on = colon != std::string_view::npos;
    if (goes_on) fields.push_back({line.substr(0, colon), std::string(trim(line.substr(colon + 1)))});
  }
  return fields;
}

}  // namespace kw::licence
