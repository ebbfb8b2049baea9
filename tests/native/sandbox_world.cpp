#include "sandbox_world.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "internal.h"

namespace kw::sandbox_test {
namespace {

constexpr int kPatienceMs = 20000;
constexpr std::uint32_t kUid = 65534;

struct Ends {
  int supervisor = -1, sandbox = -1;
};

Ends socket_ends() {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0) throw std::runtime_error("socketpair");
  return {pair[0], pair[1]};
}

bool readable(int fd, int milliseconds = kPatienceMs) {
  pollfd polled{fd, POLLIN, 0};
  return poll(&polled, 1, milliseconds) > 0;
}

// Returns the pidfd, or -1.
int receive_spawned(int fd, kw_spawned& packet) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  iovec part{&packet, sizeof packet};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  packet.error = ETIMEDOUT;
  if (!readable(fd) || recvmsg(fd, &message, MSG_CMSG_CLOEXEC) != static_cast<ssize_t>(sizeof packet))
    return -1;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  int pidfd = -1;
  if (header != nullptr) std::memcpy(&pidfd, CMSG_DATA(header), sizeof pidfd);
  return pidfd;
}

// Also reads while the runner runs, so that the runner never blocks on the pipe.
std::string read_to_end(int fd) {
  std::string text;
  char buffer[4096];
  ssize_t got = 0;
  while (readable(fd) && (got = read(fd, buffer, sizeof buffer)) > 0)
    text.append(buffer, static_cast<size_t>(got));
  return text;
}

[[noreturn]] void middle(const Setting& setting, const kw_policy& policy, const Body& body,
                         const Options& options, int status_fd, int out) {
  if (options.before) options.before();
  std::int32_t reasons[KW_ERRORS] = {};
  for (unsigned i = 0; i < KW_LAYER_COUNT; ++i)
    if ((setting.skip >> i & 1u) != 0) reasons[i] = setting.reason;
  kw_confine_without(&policy, status_fd, setting.skip, reasons);
  _exit(body(out));
}

void reap_all() {
  while (waitpid(-1, nullptr, WNOHANG) > 0) continue;
}

}  // namespace

bool Sandbox::returned(int code) const {
  return has_exited && WIFEXITED(exited.wait_status) && WEXITSTATUS(exited.wait_status) == code;
}

bool Sandbox::killed_by(int signal) const {
  return has_exited && WIFSIGNALED(exited.wait_status) && WTERMSIG(exited.wait_status) == signal;
}

std::string Sandbox::why_not(std::uint32_t layer) const {
  const int error = spawned.errors[__builtin_ctz(layer)];
  if (spawned.error != 0)
    return std::string("nothing was run: ") + spawned.step + ": " + std::strerror(spawned.error);
  return std::string("this host or setting does without ") + kw_layer_name(layer) + ": " +
         (error == 0 ? "not tried" : std::strerror(error));
}

kw_policy small_policy() {
  kw_policy policy{};
  policy.version = KW_CONFINE_VERSION;
  policy.uid = kUid;
  policy.tmp_bytes = 8u << 20;
  policy.processes = 32;
  policy.open_files = 128;
  return policy;
}

Sandbox run(const Setting& setting, const kw_policy& given, const Body& body, const Options& options) {
  static std::atomic<int> serial = 0;
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const std::string name = "kw-test-" + std::to_string(getpid()) + "-" + std::to_string(serial++);
  kw_policy policy = given;
  policy.cgroup_name = name.c_str();
  const Ends socket = socket_ends();
  int out[2];
  if (pipe(out) != 0) throw std::runtime_error("pipe");
  const pid_t child = fork();
  if (child == 0) {
    close(socket.supervisor);
    close(out[0]);
    middle(setting, policy, body, options, socket.sandbox, out[1]);
  }
  close(socket.sandbox);
  close(out[1]);
  Sandbox box;
  const int pidfd = receive_spawned(socket.supervisor, box.spawned);
  if (box.spawned.error == 0 && options.started) options.started();
  if (options.supervisor_dies) close(socket.supervisor);
  box.output = read_to_end(out[0]);
  if (!options.supervisor_dies && box.spawned.error == 0 && readable(socket.supervisor))
    box.has_exited = recv(socket.supervisor, &box.exited, sizeof box.exited, 0) == sizeof box.exited;
  if (!options.supervisor_dies) close(socket.supervisor);
  close(out[0]);
  box.ended = pidfd >= 0 && readable(pidfd);
  if (pidfd >= 0) close(pidfd);
  waitpid(child, nullptr, 0);
  reap_all();
  kw_cgroup_finish(name.c_str(), &box.usage);
  return box;
}

Bait::Bait() : pid_(fork()) {
  if (pid_ != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getuid() == 0 && setresuid(kUid, kUid, kUid) != 0) _exit(1);
  for (int i = 0; i < 60; ++i) sleep(1);
  _exit(0);
}

Bait::~Bait() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool Bait::lives() const {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

Folder::Folder() : path_("/var/tmp/kw-test-XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr || chmod(path_.c_str(), 0755) != 0)
    throw std::runtime_error("mkdtemp");
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string Folder::write(const std::string& name, const std::string& text) const {
  const std::string path = path_ + "/" + name;
  std::ofstream(path) << text;
  chmod(path.c_str(), 0644);
  return path;
}

std::string read_all(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace kw::sandbox_test
