// The tiny job whose verdict shows that verdicts work.
#pragma once

#include "schema/job.h"

namespace kw::app {

Job probe_job();

}  // namespace kw::app
