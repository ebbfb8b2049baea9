// A client's text within a message.
#pragma once

#include <string>
#include <string_view>

#include "base/core/display.h"
#include "base/core/text.h"

namespace kw::mcp {

// On one line, without characters that could hide or reorder text, and cut to 200 bytes.
inline std::string shown(std::string_view text) {
  return visible_line(shorten(text, 200));
}

}  // namespace kw::mcp
