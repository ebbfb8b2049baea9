// `kernelwright export`: converts a run to training files, or to files of other programs, and tasks to
// folders for Harbor.
#pragma once

#include "base/core/result.h"
#include "options/export_flags.h"

namespace kw::app {

using kw::ExportFlags;

// The exit status: 0 if rows were written, 1 if there were none or after an error, 2 for flags that exclude
// each other.
int export_run(const ExportFlags& flags);

// The formats of other programs: row_format() has none for them.
int export_for_others(const ExportFlags& flags);

// Tasks for Harbor.
int export_for_harbor(const ExportFlags& flags);

// An error unless the output is a new name or an empty folder.
Result<> check_new_folder(const ExportFlags& flags);

// An error if the output is the input.
Result<> check_not_input(const ExportFlags& flags);

}  // namespace kw::app
