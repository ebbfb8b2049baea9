#include "http/message.h"

#include "base/ascii.h"

namespace kw::http {

std::string_view header(const Headers& headers, std::string_view name) {
  for (const Header& entry : headers)
    if (iequals(entry.name, name)) return entry.value;
  return {};
}

}  // namespace kw::http
