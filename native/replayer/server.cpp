#include "server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/core/files.h"
#include "base/core/text.h"
#include "sandbox.h"
#include "tool_host.h"
#include "verify/messages/message.h"
#include "worker.h"

namespace kw::replayer {
namespace {

constexpr std::size_t max_fds = 16;
using Control = std::array<char, CMSG_SPACE(max_fds * sizeof(int))>;

void attach(msghdr& message, Control& control, std::span<const int> fds) {
  if (fds.empty()) return;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(fds.size_bytes());
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(fds.size_bytes());
  std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
}

void detach(msghdr& message, std::vector<Fd>& fds) {
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
      fds.emplace_back(fd);
    }
  }
}

}  // namespace

Result<> send_packet(int socket, std::string_view bytes, std::span<const int> fds) {
  if (bytes.size() > max_packet_bytes || fds.size() > max_fds)
    return fail(
        fmt::format("a message of {} bytes and {} descriptors is over the limit", bytes.size(), fds.size()));
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  attach(message, control, fds);
  while (::sendmsg(socket, &message, MSG_NOSIGNAL) < 0)
    if (errno != EINTR) return fail(fmt::format("cannot send a message: {}", errno_text(errno)));
  return {};
}

Result<Packet> receive_packet(int socket) {
  Packet packet;
  packet.bytes.resize(max_packet_bytes);
  iovec part{packet.bytes.data(), packet.bytes.size()};
  alignas(cmsghdr) Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t n = 0;
  while ((n = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC)) < 0)
    if (errno != EINTR) return fail(fmt::format("cannot receive a message: {}", errno_text(errno)));
  detach(message, packet.fds);
  if (n == 0) return fail("the channel was closed at the other end");
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) return fail("a message was over the limit");
  packet.bytes.resize(static_cast<std::size_t>(n));
  return packet;
}

namespace {

template <typename T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

Fd pidfd_of(pid_t pid) {
  return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

void report(int status_fd) {
  kw_spawned spawned{};
  spawned.type = KW_SPAWNED;
  spawned.version = KW_CONFINE_VERSION;
  spawned.init_pid = ::getpid();
  Fd pidfd = pidfd_of(::getpid());
  int fd = pidfd.get();
  auto sent = send_packet(status_fd, bytes_of(spawned), {&fd, pidfd ? 1U : 0U});
  if (!sent) ::_exit(1);
}

void die_with(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
}

std::uint64_t us_of(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(time.tv_usec);
}

// Waits until the runner has ended or the supervisor closed its end, and kills the runner in the latter case.
void wait_for_either(pid_t runner, int status_fd) {
  Fd watched = pidfd_of(runner);
  pollfd polled[] = {{watched.get(), POLLIN, 0}, {status_fd, 0, 0}};  // POLLHUP is always polled
  while (::poll(polled, 2, -1) < 0 && errno == EINTR) continue;
  if (polled[1].revents != 0) ::kill(runner, SIGKILL);
}

void tell_end(pid_t runner, int status_fd) {
  kw_exited exited{};
  rusage usage{};
  while (::wait4(runner, &exited.wait_status, 0, &usage) < 0 && errno == EINTR) continue;
  exited.type = KW_EXITED;
  exited.user_us = us_of(usage.ru_utime);
  exited.system_us = us_of(usage.ru_stime);
  exited.max_rss_kib = static_cast<std::uint64_t>(usage.ru_maxrss);
  // A failure means that the supervisor closed its end.
  std::ignore = send_packet(status_fd, bytes_of(exited));
}

}  // namespace

void enter_unconfined(int status_fd, const std::string& folder) {
  if (::fork() != 0) ::_exit(0);
  report(status_fd);
  ::setsid();
  pid_t init = ::getpid();
  pid_t runner = ::fork();
  if (runner == 0) {
    die_with(init);
    return;
  }
  wait_for_either(runner, status_fd);
  tell_end(runner, status_fd);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  ::signal(SIGTERM, SIG_IGN);
  ::kill(0, SIGTERM);  // ends the runner's remaining children
  ::_exit(0);
}

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
  // Only compiled code is loaded, so a compile cache has no use.
  ::setenv("CUDA_CACHE_DISABLE", "1", 1);
}

// The supervisor sets it to the one GPU that a process serves.
constexpr const char* visible = "CUDA_VISIBLE_DEVICES";

// kw_policy.gpu_node: N + 1 of the only visible /dev/nvidiaN, if a number names the GPU; else 0, every GPU.
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
  policy.tools = spawn.tool.empty() ? 0 : 1;
  policy.readable = readable.data();
  policy.cgroup_name = spawn.cgroup.empty() ? nullptr : spawn.cgroup.c_str();
  policy.require = spawn.required_layers;
  kw_confine(&policy, status);
}

// The folder is removed at the end, so no shared folder can stand in for it.
std::string new_folder(const char* pattern) {
  std::string folder = pattern;
  if (::mkdtemp(folder.data()) != nullptr) return folder;
  std::perror("no folder for the replayer's temporary files");
  ::_exit(1);
}

// The driver sometimes writes to the home folder, so it is a writable one.
void settle(const std::string& folder) {
  ::setenv("HOME", folder.c_str(), 1);
  ::setenv("TMPDIR", folder.c_str(), 1);
  if (::chdir(folder.c_str()) != 0) std::perror("chdir");
}

// Returns only in the process that replays.
void isolate(const wire::SpawnT& spawn, int status) {
  set_environment(spawn);
  constexpr const char* pattern = "/tmp/kernelwright-XXXXXX";
  if (spawn.unconfined) {
    std::string folder = new_folder(pattern);
    enter_unconfined(status, folder);
    settle(folder);
  } else {
    confine(spawn, status);
    if (gpu_node(spawn) > 0) ::setenv(visible, "0", 1);  // the only visible one
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
  const int device = std::min(spawn.device, 0);
  int status = spawn.tool.empty() ? serve(control, device) : serve_under_tool(control, spawn.tool, device);
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

namespace {

Outcome<std::unique_ptr<Worker>> started(driver::Driver& driver, int device, Timing timing) {
  if (const char* missing = driver::load(driver); *missing != '\0')
    return infrastructure(std::string(missing) +
                          " is missing: the NVIDIA driver is not installed, or too old");
  if (device < 0) return infrastructure("a replayer needs a device");
  return Worker::start(driver, device, timing);
}

using Started = Outcome<std::unique_ptr<Worker>>;

void answer_all(int control, Started& worker) {
  if (!worker) std::fprintf(stderr, "%s\n", worker.error().error.c_str());
  while (auto packet = receive_packet(control)) {
    std::string reply;
    auto request = wire::decode(packet->bytes);
    if (!worker)
      reply = wire::encode(failed(worker.error()));
    else if (!request)
      reply = wire::encode(failed({"infrastructure", request.error().what}));
    else
      reply = (*worker)->answer(*request, packet->fds);
    if (!send_packet(control, reply)) break;
    if (worker && (*worker)->spent()) break;
  }
}

}  // namespace

void answer_requests(int control, int device, Timing timing) {
  static driver::Driver driver;  // must outlive everything on the device
  Started worker = started(driver, device, timing);
  answer_all(control, worker);
}

int serve_replays(int control, int device) {
  static driver::Driver driver;
  Started worker = started(driver, device, Timing::measured);
  answer_all(control, worker);
  // An orderly teardown takes time and fails with a broken context. The driver cleans up after the process.
  std::fflush(nullptr);
  ::_exit(0);
}

}  // namespace kw::replayer
