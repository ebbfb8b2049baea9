// Licence notices: what many files begin with, and no copy of anything.
#pragma once

#include <string_view>

namespace kw::leak {

// Apache's notice, and the terms of MIT and BSD, one after the other.
std::string_view licence_notices();

}  // namespace kw::leak
