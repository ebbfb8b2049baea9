#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kw {

// The bytes that the text stands for; nothing where it is no base64 with its padding.
std::optional<std::string> base64_decoded(std::string_view text);

}  // namespace kw
