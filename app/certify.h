// `kernelwright certify`: examines the tasks of a benchmark.
#pragma once

#include "options/certify_flags.h"

namespace kw::app {

// The exit status: a failure if a task got no certificate, or has a mark of --fail-on.
int certify(const CertifyFlags& flags);

}  // namespace kw::app
