// `kernelwright export`: converts a run to training files.
#pragma once

#include "options/export_flags.h"

namespace kw::app {

using kw::ExportFlags;

// The exit status: 0 if rows were written, 1 if there were none or after an error, 2 for flags that exclude
// each other.
int export_run(const ExportFlags& flags);

}  // namespace kw::app
