// Machine resources for the verbs of `dataset`, and the settings that their flags state.
#pragma once

#include <csignal>
#include <filesystem>
#include <string>

#include "base/core/result.h"
#include "dataset/build/audit.h"
#include "dataset/build/build.h"
#include "dataset/build/dedup.h"
#include "dataset/build/write.h"
#include "options/dataset_flags.h"
#include "verify/workers/installation.h"

namespace kw::app {

// Machine resources for the verbs of `dataset`.
struct DatasetHost {
  dataset::PythonTools python;
  engine::Installation installation;
  unsigned threads = 1;
};

// A missing Python package is an error only if the verb needs it.
Result<DatasetHost> dataset_host(const DatasetMachineFlags& flags, bool needs_python);

// From here on Ctrl-C and SIGTERM request a stop; a second signal ends the program at once.
void heed_interrupts();
bool interrupted();

// Progress: on a terminal one line that is overwritten, elsewhere occasional lines. No output if quiet.
dataset::Watch watch_of(bool quiet);

// Ends the line of progress, if there is one.
void end_progress();

// A new folder in the temporary folder, or next to `beside` if it is given. The destructor removes the
// folder.
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

// Converts flags of `dataset` into settings.
Result<dataset::BuildSettings> build_settings(const DatasetBuildFlags& flags, const DatasetHost& host);
dataset::DedupSettings dedup_settings(const DatasetDedupFlags& flags, const DatasetHost& host,
                                      const std::filesystem::path& scratch);
dataset::AuditSettings audit_settings(const DatasetAuditFlags& flags, const DatasetHost& host,
                                      const std::filesystem::path& scratch);
dataset::ExportSettings export_settings(const DatasetExportFlags& flags, const DatasetHost& host,
                                        const std::filesystem::path& scratch);

}  // namespace kw::app
