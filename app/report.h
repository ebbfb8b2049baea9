// The verb `report`.
#pragma once

#include "options/report_flags.h"

namespace kw::app {

// The exit status: 1 if a part of an input could not be read or the output not be written, 2 for wrong flags.
int report(const ReportFlags& flags);

}  // namespace kw::app
