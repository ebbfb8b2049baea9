// The probe: a tiny job that tests whether the engine judges correctly.
#pragma once

#include "types/job.h"

namespace kw::app {

Job probe_job();

}  // namespace kw::app
