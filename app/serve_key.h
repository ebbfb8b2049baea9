// The key that clients of the service must give.
#pragma once

#include <string>

#include "base/result.h"

namespace kw::app {

// From the file, else from KERNELWRIGHT_API_KEY, which this process then forgets: what it starts must not
// inherit it. Empty: there is none.
Result<std::string> read_service_key(const std::string& file);

}  // namespace kw::app
