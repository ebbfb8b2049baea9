#include "session.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/async/loop.h"
#include "base/core/display.h"
#include "base/process/watch.h"
#include "sandbox.h"
#include "verify/workers/installation.h"

namespace kw::app {
namespace {

using namespace std::chrono_literals;

void sweep_cgroups() {
  for (const char* prefix : {"kernelwright", "kw-probe"}) kw_cgroup_sweep(prefix);
}

// An exception of `tick`, for example if standard error is closed, ends the display but not the work.
async::Task<> keep_time(std::function<void()> tick) {
  while (true) {
    co_await async::sleep_until(async::Deadline::in(1s));
    try {
      tick();
    } catch (const std::exception&) {
      co_return;
    }
  }
}

async::Task<> run_to_end(std::function<async::Task<int>()> work, async::Loop* loop, int* status) {
  *status = co_await work();
  loop->stop();
}

}  // namespace

void complain(const Error& error) {
  fmt::print(stderr, "error: {}\n", for_log(error.what));
  if (!error.remedy.empty()) fmt::print(stderr, "  -> {}\n", for_log(error.remedy));
}

int failed(const Error& error) {
  complain(error);
  return exit_failure;
}

void Session::heed_signals() {
  signals_.async_wait([this](boost::system::error_code error, int signal) {
    if (error) return;
    const std::string cause = fmt::format("signal {}", signal);
    if (on_signal) {
      on_signal(cause);
    } else {
      interrupted_ = !stop.requested();
      stop.request(cause);
    }
    // A second signal ends the process at once, and its children with it.
    signals_.async_wait([](boost::system::error_code again, int) {
      if (!again) ::_exit(exit_interrupted);
    });
  });
}

int Session::run(std::function<async::Task<int>()> work, std::function<void()> tick) {
  int status = 0;
  heed_signals();
  async::spawn(loop, keep_time(std::move(tick)));
  async::spawn(loop, run_to_end(std::move(work), &loop, &status));
  loop.run();
  // A runner that was starting during the stop may create its cgroup after the others were removed.
  if (stop.requested()) process::await_children(2s);
  sweep_cgroups();
  return interrupted_ ? exit_interrupted : status;
}

Result<> own_processes() {
  kw_cgroup_prepare();
  sweep_cgroups();
  return process::become_subreaper();
}

void allow_descriptors(std::size_t count) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, count);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

int dry_run(Source& source, const std::function<std::string(const Job&)>& line_of) {
  bool is_bad = false;
  auto read = read_all(
      source, [&](const Job& job) { fmt::print("{}\n", for_log(line_of(job))); },
      [&](const RowError& error) {
        fmt::print(stderr, "error: {}\n", for_log(describe(error)));
        is_bad = true;
      });
  if (!read) complain(read.error());
  return !read || is_bad ? exit_failure : 0;
}

namespace {

namespace fs = std::filesystem;

std::vector<std::string> environment_with(const engine::Installation& installation) {
  std::string path;
  for (const fs::path& folder : installation.python_path) path += folder.string() + ":";
  const char* theirs = std::getenv("PYTHONPATH");
  if (theirs != nullptr && *theirs != '\0')
    path += theirs;
  else if (!path.empty())
    path.pop_back();
  std::vector<std::string> result{"PYTHONPATH=" + path, "PYTHONUNBUFFERED=1"};
  for (char** each = environ; *each != nullptr; ++each) {
    std::string_view variable(*each);
    if (!variable.starts_with("PYTHONPATH=") && !variable.starts_with("PYTHONUNBUFFERED="))
      result.emplace_back(variable);
  }
  return result;
}

}  // namespace

Result<PythonChild> python_child(const std::string& asked) {
  auto installation = engine::find_installation();
  if (!installation) return std::unexpected(installation.error());
  auto python = engine::find_python(asked, *installation);
  if (!python) return std::unexpected(python.error());
  return PythonChild{python->path.string(), environment_with(*installation), *installation};
}

}  // namespace kw::app
