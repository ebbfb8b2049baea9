#include "server.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "channel.h"
#include "confine.h"
#include "unconfined.h"
#include "wire/message.h"

namespace kw::replayer {
namespace {

constexpr std::size_t descriptors = 4;
constexpr std::uint32_t nobody = 65534;

enum Which { control_fd, out_fd, err_fd, status_fd };

void take_output(const std::vector<Fd>& fds) {
  int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(null, 0);
  ::dup2(fds[out_fd].get(), 1);
  ::dup2(fds[err_fd].get(), 2);
  ::close(null);
}

void set_environment(const wire::SpawnT& spawn) {
  for (const std::string& line : spawn.environment) {
    std::size_t at = line.find('=');
    if (at == std::string::npos) continue;
    ::setenv(line.substr(0, at).c_str(), line.substr(at + 1).c_str(), 1);
  }
  // Only finished code is loaded: there is nothing to keep.
  ::setenv("CUDA_CACHE_DISABLE", "1", 1);
}

// Set by the supervisor to the one GPU that a process serves.
constexpr const char* visible = "CUDA_VISIBLE_DEVICES";

// As kw_policy has it: the only /dev/nvidiaN that is shown, where the GPU is named by a number.
std::uint32_t gpu_node(const wire::SpawnT& spawn) {
  const char* named = std::getenv(visible);
  bool number = named != nullptr && *named >= '0' && *named <= '9';
  return spawn.device >= 0 && number ? static_cast<std::uint32_t>(spawn.device) + 1 : 0;
}

void confine(const wire::SpawnT& spawn, int status) {
  std::vector<const char*> readable;
  for (const std::string& each : spawn.readable) readable.push_back(each.c_str());
  readable.push_back(nullptr);
  kw_policy policy{};
  policy.version = KW_CONFINE_VERSION;
  policy.uid = spawn.uid == 0 ? nobody : spawn.uid;
  policy.address_space_bytes = spawn.address_space_bytes;
  policy.memory_bytes = spawn.memory_bytes;
  policy.tmp_bytes = spawn.tmp_bytes;
  policy.file_bytes = spawn.file_bytes;
  policy.processes = spawn.processes;
  policy.open_files = spawn.open_files;
  policy.cpu_s = spawn.cpu_s;
  policy.gpu = spawn.device >= 0 ? 1 : 0;
  policy.gpu_node = gpu_node(spawn);
  policy.readable = readable.data();
  policy.cgroup_name = spawn.cgroup.empty() ? nullptr : spawn.cgroup.c_str();
  policy.require = spawn.required_layers;
  kw_confine(&policy, status);
}

std::string new_folder(const char* pattern) {
  std::string folder = pattern;
  return ::mkdtemp(folder.data()) == nullptr ? std::string("/tmp") : folder;
}

// The driver asks for a home now and then; it gets one where it may write.
void settle(const std::string& folder) {
  ::setenv("HOME", folder.c_str(), 1);
  ::setenv("TMPDIR", folder.c_str(), 1);
  if (::chdir(folder.c_str()) != 0) std::perror("chdir");
}

// Returns in the process that replays, and nowhere else.
void isolate(const wire::SpawnT& spawn, int status) {
  set_environment(spawn);
  constexpr const char* pattern = "/tmp/kernelwright-XXXXXX";
  if (spawn.unconfined) {
    std::string folder = new_folder(pattern);
    enter_unconfined(status, folder);
    settle(folder);
  } else {
    confine(spawn, status);
    if (gpu_node(spawn) > 0) ::setenv(visible, "0", 1);  // it is the only one here
    settle(new_folder(pattern));
  }
}

[[noreturn]] void be_child(const wire::SpawnT& spawn, const std::vector<Fd>& fds,
                           const std::function<int(int, int)>& serve) {
  ::signal(SIGINT, SIG_DFL);
  take_output(fds);
  isolate(spawn, fds[status_fd].get());
  int control = fds[control_fd].get();
  kw_close_others(&control, 1);
  int status = serve(control, std::min(spawn.device, 0));
  std::fflush(nullptr);
  ::_exit(status);
}

wire::ReadyT ready() {
  wire::ReadyT message;
  message.pid = static_cast<std::uint32_t>(::getpid());
  return message;
}

}  // namespace

int serve_forks(int control, const std::function<int(int, int)>& serve) {
  kw_probe(nullptr);
  if (!send_packet(control, wire::encode(ready()))) return 0;
  while (auto packet = receive_packet(control)) {
    auto body = wire::decode(packet->bytes);
    const wire::SpawnT* spawn = body ? body->AsSpawn() : nullptr;
    if (spawn == nullptr || packet->fds.size() != descriptors) continue;
    pid_t middle = ::fork();
    if (middle == 0) be_child(*spawn, packet->fds, serve);
    while (middle > 0 && ::waitpid(middle, nullptr, 0) < 0 && errno == EINTR) continue;
  }
  return 0;
}

}  // namespace kw::replayer
