#pragma once

#include <string>

namespace kw {

// ISO 8601, UTC, to the second: "2026-03-02T00:34:06Z".
std::string utc_now();

}  // namespace kw
