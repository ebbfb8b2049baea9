#include "base/utc_now.h"

#include <fmt/chrono.h>

#include <ctime>

namespace kw {

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

}  // namespace kw
