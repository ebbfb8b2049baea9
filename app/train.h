// `kernelwright train`: trains an adapter in a Python process. `train merge`: merges an adapter into its base
// model.
#pragma once

#include <string>
#include <vector>

#include "base/core/result.h"
#include "options/train_flags.h"
#include "train/job/job.h"
#include "train/job/session.h"
#include "verify/workers/installation.h"

namespace kw::app {

// The Python process that trains: executable, environment and output.
struct TrainPython {
  std::string program;
  std::vector<std::string> environment;  // of this process, with the Python package on PYTHONPATH
  std::string requirements;              // the pinned packages of training; empty if the file is missing
};

Result<TrainPython> train_python(const std::string& asked);

// `PYTHON -P -m kernelwright._train WORDS...`; the last word names the descriptor for events.
process::Command train_command(const TrainPython& python, std::vector<std::string> words);

// Installs the pinned packages with pip; pip's output goes to standard error.
Result<> install_packages(const TrainPython& python);

// Reports missing and conflicting flags; reads no files.
Result<> check_words(const TrainFlags& flags);

// The job: the recipe with its changes, examined data files, absolute paths. Errors name the flag.
Result<training::Job> train_job(const TrainFlags& flags);

// A folder's absolute path, or a hub name; an error if the folder does not exist.
Result<std::string> model_of(const std::string& given);

// An absolute path without a trailing slash.
std::string folder_of(const std::string& given);

// `kernelwright train merge`. The exit status is as in train().
int train_merge(const TrainMergeFlags& flags);

using kw::TrainFlags;

// `verb` is the parsed verb. The exit status: 0 after complete training, 1 after an error, 2 for flags that
// exclude each other, 130 after a signal.
int train(const TrainFlags& flags, const CLI::App& verb);

}  // namespace kw::app
