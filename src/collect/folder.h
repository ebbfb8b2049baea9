// Folders → files, sorted by name.
#pragma once

#include <string>

#include "base/result.h"
#include "collect/gate.h"

namespace kw::collect {

// Two walks: licences and metadata, then every wanted file through the gate. Links are not followed.
Result<> read_folder(const std::string& path, const corpus::Origin& origin, Gate& gate);

}  // namespace kw::collect
