// `kernelwright view`: the page of a report, live.
#pragma once

#include "options/view_flags.h"

namespace kw::app {

// Serves until a signal; the exit status is then 130.
int view(const ViewFlags& flags);

}  // namespace kw::app
