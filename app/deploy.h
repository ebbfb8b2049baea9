// `kernelwright deploy`: the service where others place and restart it.
#pragma once

#include "flags/deploy_flags.h"

namespace kw::app {

// The URL on standard output, kept under the verb's name for --evaluator.
int deploy(const DeployFlags& flags, const CLI::App& verb);

}  // namespace kw::app
