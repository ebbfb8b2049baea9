// The tasks of --tasks, which clients of the service name by id.
#pragma once

#include <string>
#include <vector>

#include "base/core/result.h"
#include "serve/task_catalogue.h"

namespace kw::app {

// Reads the tasks of the sources: paths as `run` takes them, or kernelbook:hub and kernelbench:hub.
// References are read as text; none runs here. Bad rows go to standard error and are left out. Null for no
// sources.
Result<service::TaskCataloguePtr> read_service_tasks(const std::vector<std::string>& sources,
                                                     const std::string& python);

}  // namespace kw::app
