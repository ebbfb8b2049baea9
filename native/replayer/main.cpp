// kernelwright-replayer: replays recordings of device work in processes that have never run a candidate's
// host code.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/files.h"
#include "server.h"
#include "tool_host.h"
#include "verify/census/census_file.h"
#include "worker.h"

namespace {

constexpr int usage_error = 2;

std::optional<int> number(std::string_view text) {
  int value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

int serve(int control) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGINT, SIG_IGN);  // the supervisor handles Ctrl-C
  return kw::replayer::serve_forks(control, kw::replayer::serve_replays);
}

int probe(int device) {
  kw::driver::Driver driver;
  if (const char* missing = kw::driver::load(driver); *missing != '\0') {
    std::fprintf(stderr, "the NVIDIA driver is not installed, or too old: %s is missing\n", missing);
    return 1;
  }
  kw::replayer::Probe found = kw::replayer::probe(driver, device);
  std::printf("%s\n", found.json.c_str());
  if (found.missing.empty()) return 0;
  std::fprintf(stderr, "recordings cannot be replayed: %s\n", found.missing.c_str());
  return 1;
}

// Writes the census of the libraries in these folders to the standard output. To make one takes seconds,
// which shall not disturb the verdicts beside it.
int write_census(unsigned capability, const std::vector<std::string>& folders) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  constexpr int lower_priority = 10;
  ::setpriority(PRIO_PROCESS, 0, lower_priority);
  auto bytes = kw::census::kept_or_made(folders, capability, kw::census::cache_file(folders, capability));
  if (!bytes) {
    std::fprintf(stderr, "%s\n", bytes.error().what.c_str());
    return 1;
  }
  return kw::write_all(STDOUT_FILENO, *bytes) ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  std::optional<int> value = count == 3 ? number(words[2]) : std::nullopt;
  if (value && std::strcmp(words[1], "--control") == 0) return serve(*value);
  if (value && std::strcmp(words[1], "--probe") == 0) return probe(*value);
  // A tool starts this one, for the host of both: tool_host.h.
  if (count == 4 && std::strcmp(words[1], "--connect") == 0)
    if (auto device = number(words[3])) return kw::replayer::serve_traced(words[2], *device);
  if (count > 3 && std::strcmp(words[1], "--census") == 0)
    if (auto capability = number(words[2]))
      return write_census(static_cast<unsigned>(*capability), {words + 3, words + count});
  std::fputs(
      "usage: kernelwright-replayer --control FD | --connect SOCKET DEVICE | --probe DEVICE | "
      "--census CAPABILITY FOLDER...\n",
      stderr);
  return usage_error;
}
