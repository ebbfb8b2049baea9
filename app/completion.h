// `kernelwright completion`: scripts for shells, from the table of verbs.
#pragma once

#include <string>

#include "base/core/words.h"
#include "options/verb_table.h"

namespace kw::app {

BOOST_DEFINE_ENUM_CLASS(Shell, bash, zsh, fish)

std::string completion_script(Shell shell, const VerbInfo& program);

}  // namespace kw::app
