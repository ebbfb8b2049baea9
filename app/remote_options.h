// How a service is reached: flags, names of deployments, and keys from the environment.
#pragma once

#include "evaluator.h"

namespace kw::app {

Result<remote::Options> remote_options(const EvaluatorFlags& evaluator, const HostOptions& host,
                                       const RunPlace& place);

// Every setting that travels with a job.
JobOptions job_options(const verify::Settings& settings);

}  // namespace kw::app
