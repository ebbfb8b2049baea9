#pragma once

#include <string>

#include "verify/settings.h"
#include "wire/message.h"

namespace kw::verify {

// 16 hex digits over everything that can change a verdict (contracts, "Names").
std::string protocol_hash(const Settings& settings, const wire::ReadyT& versions, const std::string& gpu);

}  // namespace kw::verify
