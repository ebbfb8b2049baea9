// catalogue.json, built into the program, so that it needs no file at run time.
#pragma once

#include <string_view>

namespace kw::fetch {

std::string_view catalogue_text();

}  // namespace kw::fetch
