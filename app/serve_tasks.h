// The tasks of --tasks, which clients of the service name by id.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "loop/tasks/source.h"
#include "serve/task_catalogue.h"

namespace kw::app {

// Opens all tasks of the sources, without sampling: paths as `run` takes them, or kernelbook:hub and
// kernelbench:hub.
Result<SourcePtr> open_task_sources(const std::vector<std::string>& sources, const std::string& python);

// Prints the first bad rows of a source on standard error.
void tell_bad_task(const RowError& bad, std::size_t number);

// Reads the tasks of the sources: paths as `run` takes them, or kernelbook:hub and kernelbench:hub.
// References are read as text; none runs here. Bad rows go to standard error and are left out. Null for no
// sources.
Result<service::TaskCataloguePtr> read_service_tasks(const std::vector<std::string>& sources,
                                                     const std::string& python);

}  // namespace kw::app
