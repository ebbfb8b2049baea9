// What the verbs of `dataset` need of the machine.
#pragma once

#include <csignal>
#include <filesystem>
#include <string>

#include "base/result.h"
#include "dataset/build.h"
#include "engine/installation.h"
#include "flags/dataset_flags.h"

namespace kw::app {

struct DatasetHost {
  dataset::PythonTools python;
  engine::Installation installation;
  unsigned threads = 1;
};

// Without a Python with our package this is an error only where one is needed.
Result<DatasetHost> dataset_host(const DatasetMachineFlags& flags, bool needs_python);

// Ctrl-C and SIGTERM ask for an end from here on; a second one ends the program at once.
void heed_interrupts();
bool interrupted();

// Progress on a terminal: one line, written over; elsewhere a line now and then. Nothing when quiet.
dataset::Watch watch_of(bool quiet);

// Ends the line of progress, if there is one.
void end_progress();

// A folder of ours in the temporary folder (or beside `beside`, where one is named), which goes with this.
class ScratchFolder {
 public:
  static Result<ScratchFolder> make(const std::filesystem::path& beside);
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit ScratchFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace kw::app
