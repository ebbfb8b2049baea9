// How a service is reached: flags, names of deployments, and keys from the environment.
#pragma once

#include "evaluator.h"

namespace kw::app {

Result<remote::Options> remote_options(const EvaluatorFlags& evaluator, const Settings& settings,
                                       const RunPlace& place);

}  // namespace kw::app
