// kernelwright-replayer: replays recordings of device work in processes that have never run a candidate's
// host code.
#include <signal.h>
#include <sys/prctl.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>

#include "server.h"
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

}  // namespace

int main(int count, char** words) {
  std::optional<int> value = count == 3 ? number(words[2]) : std::nullopt;
  if (value && std::strcmp(words[1], "--control") == 0) return serve(*value);
  if (value && std::strcmp(words[1], "--probe") == 0) return probe(*value);
  std::fputs("usage: kernelwright-replayer --control FD | --probe DEVICE\n", stderr);
  return usage_error;
}
