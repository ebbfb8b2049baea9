#include "dataset_host.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "engine/python.h"
#include "session.h"

namespace kw::app {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t signals = 0;
bool line_is_open = false;

void on_signal(int) {
  if (signals > 0) ::_exit(exit_interrupted);
  signals = signals + 1;
}

class ProgressLine {
 public:
  void say(const std::string& stage, std::uint64_t done, std::uint64_t of) {
    auto now = Clock::now();
    bool is_new = stage != stage_;
    auto pause = std::chrono::milliseconds(terminal_ ? 200 : 10'000);
    if (!is_new && now - last_ < pause) return;
    stage_ = stage;
    last_ = now;
    std::string text = done == 0 ? stage
                       : of == 0 ? fmt::format("{}: {}", stage, done)
                                 : fmt::format("{}: {} of {}", stage, done, of);
    if (!terminal_) {
      fmt::print(stderr, "{}\n", text);
      return;
    }
    fmt::print(stderr, "\r\x1b[K{}", text);
    std::fflush(stderr);
    line_is_open = true;
  }

 private:
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  std::string stage_;
  Clock::time_point last_;
};

}  // namespace

Result<DatasetHost> dataset_host(const DatasetMachineFlags& flags, bool needs_python) {
  DatasetHost host;
  host.threads = flags.threads > 0 ? static_cast<unsigned>(flags.threads)
                                   : std::max(1U, std::thread::hardware_concurrency());
  auto installation = engine::find_installation();
  if (!installation) {
    if (needs_python) return std::unexpected(installation.error());
    return host;
  }
  host.installation = std::move(*installation);
  auto python = engine::find_python(flags.python, host.installation);
  if (!python && needs_python) return std::unexpected(python.error());
  if (python) host.python.python = python->path.string();
  for (const fs::path& folder : host.installation.python_path)
    if (fs::exists(folder / "kernelwright/parquet_rows.py")) host.python.package = folder / "kernelwright";
  return host;
}

void heed_interrupts() {
  struct sigaction action{};
  action.sa_handler = on_signal;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() {
  return signals > 0;
}

dataset::Watch watch_of(bool quiet) {
  dataset::Watch watch;
  watch.stop = interrupted;
  if (!quiet)
    watch.progress = [line = ProgressLine()](const std::string& stage, std::uint64_t done,
                                             std::uint64_t of) mutable { line.say(stage, done, of); };
  return watch;
}

void end_progress() {
  if (line_is_open) fmt::print(stderr, "\r\x1b[K");
  line_is_open = false;
}

Result<ScratchFolder> ScratchFolder::make(const fs::path& beside) {
  std::error_code error;
  fs::path parent = beside.empty() ? fs::temp_directory_path(error) : beside;
  std::string name = (parent / ".kernelwright-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    return fail(fmt::format("cannot make a folder in {}", parent.string()), "is there room, and the right?");
  return ScratchFolder(name);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace kw::app
