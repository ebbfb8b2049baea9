// The script and the style of the page, which are built into the program.
#pragma once

#include <string_view>

namespace kw::report {

std::string_view page_script();
std::string_view page_style();

}  // namespace kw::report
