// `kernelwright deploy`: deploys the service to a platform that places and restarts it.
#pragma once

#include "options/serve_flags.h"

namespace kw::app {

// Prints the URL on standard output and stores it under the verb's name for --evaluator.
int deploy(const DeployFlags& flags, const CLI::App& verb);

}  // namespace kw::app
