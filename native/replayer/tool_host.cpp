#include "tool_host.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/core/files.h"
#include "fault.h"
#include "server.h"
#include "verify/messages/message.h"

namespace kw::replayer {
namespace {

namespace fs = std::filesystem;

std::optional<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return {};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

Fd packet_socket() {
  return Fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
}

const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

Fd listening_at(const std::string& path) {
  const auto address = address_of(path);
  Fd socket = packet_socket();
  if (!address || !socket || ::bind(socket.get(), generic(*address), sizeof *address) != 0 ||
      ::listen(socket.get(), 1) != 0)
    return {};
  return socket;
}

// Returns the child's number. A tool may close inherited descriptors, so the replayer connects by a path.
pid_t start(const std::vector<std::string>& words) {
  const pid_t host = ::getpid();
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != host) ::_exit(1);
  std::vector<char*> argv;
  for (const std::string& each : words) argv.push_back(const_cast<char*>(each.c_str()));
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  std::fprintf(stderr, "the tool cannot be started: %s\n", std::strerror(errno));
  constexpr int no_program = 127;
  ::_exit(no_program);
}

class Tool {
 public:
  Tool(const std::vector<std::string>& words, std::string folder, int device)
      : report_(folder + "/report"), path_(std::move(folder) + "/replayer"), listening_(listening_at(path_)) {
    std::vector<std::string> command(words.begin(), words.end() - 1);
    command.insert(command.end(),
                   {"--log-file", report_, words.back(), "--connect", path_, std::to_string(device)});
    pid_ = listening_ ? start(command) : -1;
  }

  // The replayer's answer to this packet. An error: it has ended, or has never come.
  Result<Packet> ask(const Packet& packet) {
    if (!replayer_) replayer_ = connected();
    if (!replayer_) return fail("it does not start");
    std::vector<int> fds;
    for (const Fd& each : packet.fds) fds.push_back(each.get());
    if (auto sent = send_packet(replayer_.get(), packet.bytes, fds); !sent)
      return std::unexpected(sent.error());
    return receive_packet(replayer_.get());
  }

  // Lets the replayer end in order, for the tool reports what it found only then. Returns the tool's status.
  int conclude() {
    replayer_.reset();
    listening_.reset();
    while (!ended_ && pid_ > 0 && ::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) continue;
    ended_ = true;
    return status_;
  }

  Fd report() const { return Fd(::open(report_.c_str(), O_RDONLY | O_CLOEXEC)); }

 private:
  // Waits for the replayer as long as the tool runs.
  Fd connected() {
    constexpr int step_ms = 50;
    pollfd polled{listening_.get(), POLLIN, 0};
    while (!ended_ && pid_ > 0) {
      if (::poll(&polled, 1, step_ms) > 0)
        return Fd(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      ended_ = ::waitpid(pid_, &status_, WNOHANG) == pid_;
    }
    return {};
  }

  std::string report_;
  std::string path_;
  Fd listening_;
  Fd replayer_;
  pid_t pid_ = -1;
  bool ended_ = false;
  int status_ = 0;
};

bool tell(int control, wire::ConcludedT answer, const Fd& report) {
  const int fd = report.get();
  return send_packet(control, wire::encode(std::move(answer)), {&fd, report ? 1U : 0U}).has_value();
}

}  // namespace

int serve_under_tool(int control, const std::vector<std::string>& words, int device) {
  std::error_code error;
  const fs::path folder = fs::current_path(error);
  if (error || words.size() < 2) return 1;
  Tool tool(words, folder.string(), device);
  while (auto packet = receive_packet(control)) {
    auto request = wire::decode(packet->bytes);
    if (request && request->AsConclude() != nullptr) {
      wire::ConcludedT answer;
      answer.wait_status = tool.conclude();
      return tell(control, std::move(answer), tool.report()) ? 0 : 1;
    }
    auto answer = tool.ask(*packet);
    if (!answer) {
      const Fault fault{"infrastructure", "the replayer under the tool: " + answer.error().what};
      if (!send_packet(control, wire::encode(failed(fault)))) return 1;
      continue;
    }
    std::vector<int> fds;
    for (const Fd& each : answer->fds) fds.push_back(each.get());
    if (!send_packet(control, answer->bytes, fds)) return 1;
  }
  return 0;
}

int serve_traced(const std::string& path, int device) {
  // Kernels may print, and their text shall not lie among the tool's.
  const Fd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  ::dup2(null.get(), STDOUT_FILENO);
  const auto address = address_of(path);
  const Fd control = packet_socket();
  if (!address || !control || ::connect(control.get(), generic(*address), sizeof *address) != 0) {
    std::perror("no way to the replayer's host");
    return 1;
  }
  answer_requests(control.get(), device, Timing::none);
  return 0;
}

}  // namespace kw::replayer
