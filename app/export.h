// `kernelwright export`: a run into files to train on.
#pragma once

#include "flags/export_flags.h"

namespace kw::app {

using kw::ExportFlags;

// The exit status: 0 where rows were written, 1 where none were left or something failed, 2 where flags do
// not go together.
int export_run(const ExportFlags& flags);

}  // namespace kw::app
