// What `doctor` finds out about this machine: sandbox, Python and its packages, GPUs.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "findings.h"

namespace kw::app {

// `probe` becomes what this machine's Python says. An empty `chosen_python` is one that is looked for.
Findings examine_machine(const std::string& chosen_python, boost::json::object& probe);

}  // namespace kw::app
