// A Python that runs our package as a child: which, and with what environment.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/installation.h"

namespace kw::app {

struct PythonChild {
  std::string program;
  std::vector<std::string> environment;  // of this process, with our package on PYTHONPATH
  engine::Installation installation;
};

// `asked`, else as engine::find_python looks for one.
Result<PythonChild> python_child(const std::string& asked);

}  // namespace kw::app
