// Words of the command line into values. An error says what is allowed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw {

Result<std::uint64_t> parse_whole(const std::string& text, std::uint64_t least, std::uint64_t most);
Result<double> parse_positive(const std::string& text);
Result<double> parse_share(const std::string& text);  // from 0 to 1

// "8G", "512M", "65536": bytes, in powers of 1024.
Result<std::uint64_t> parse_bytes(const std::string& text);

// The word itself, if it is one of those allowed.
Result<std::string> parse_choice(const std::string& text, const std::vector<std::string>& allowed);

}  // namespace kw
