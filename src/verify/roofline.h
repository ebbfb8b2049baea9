#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kw::verify {

// The least time in milliseconds in which a GPU of this name can move these bytes through its memory, by the
// vendor's peak bandwidth; nothing for a GPU we do not know.
std::optional<double> least_traffic_ms(std::string_view gpu, std::uint64_t bytes);

}  // namespace kw::verify
