#include "session.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "async/spawn.h"
#include "confine.h"
#include "process/exit_watch.h"

namespace kw::app {
namespace {

using namespace std::chrono_literals;

void sweep_cgroups() {
  for (const char* prefix : {"kernelwright", "kw-probe"}) kw_cgroup_sweep(prefix);
}

// What the ticks show is no part of the work: where that fails (standard error may be gone), it goes on
// unseen.
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
  fmt::print(stderr, "error: {}\n", error.what);
  if (!error.remedy.empty()) fmt::print(stderr, "  -> {}\n", error.remedy);
}

void Session::heed_signals() {
  signals_.async_wait([this](boost::system::error_code error, int signal) {
    if (error) return;
    const std::string cause = fmt::format("signal {}", signal);
    on_signal ? on_signal(cause) : stop.request(cause);
    // A second one does not wait for order: what is left dies with us.
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
  // A runner that was being started when the stop came makes its cgroup after all were cleared away.
  if (stop.requested()) process::await_children(2s);
  sweep_cgroups();
  return stop.requested() ? exit_interrupted : status;
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

}  // namespace kw::app
