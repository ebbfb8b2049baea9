// `kernelwright man`: the manual page in roff, from the table of verbs.
#pragma once

#include <string>

#include "options/verb_table.h"

namespace kw::app {

std::string man_page(const VerbInfo& program, const std::string& version);

}  // namespace kw::app
