// The Python that trains: which, with what environment, and where its words go.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/installation.h"
#include "training/child.h"

namespace kw::app {

struct TrainPython {
  std::string program;
  std::vector<std::string> environment;  // of this process, with our package on PYTHONPATH
  std::string requirements;              // the pinned packages of training; empty where the file is missing
};

Result<TrainPython> train_python(const std::string& asked);

// `PYTHON -P -m kernelwright.train WORDS...`, with the descriptor for events named at the end.
process::Command train_command(const TrainPython& python, std::vector<std::string> words);

// Installs the pinned packages with pip; what pip says is shown on standard error.
Result<> install_packages(const TrainPython& python);

}  // namespace kw::app
