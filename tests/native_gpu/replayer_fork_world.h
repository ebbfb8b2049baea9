// The replayers' fork server in a process of its own, and its supervisor's descriptors.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>

#include "sandbox.h"
#include "server.h"
#include "verify/messages/message.h"

namespace kw::replayer {

struct Pair {
  Fd ours;
  Fd theirs;
};

inline Pair socket_pair() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

// A fork server in a process of its own; it ends with the socket.
class Server {
 public:
  explicit Server(const std::function<int(int, int)>& serve) {
    Pair pair = socket_pair();
    pid_ = ::fork();
    if (pid_ == 0) {
      pair.ours.reset();
      ::_exit(serve_forks(pair.theirs.get(), serve));
    }
    socket_ = std::move(pair.ours);
  }
  ~Server() {
    socket_.reset();
    ::waitpid(pid_, nullptr, 0);
  }

  wire::BodyUnion receive() { return wire::decode(receive_packet(socket_.get()).value().bytes).value(); }
  void send(std::string packet, std::span<const int> fds) {
    ASSERT_TRUE(send_packet(socket_.get(), packet, fds).has_value());
  }

 private:
  pid_t pid_ = -1;
  Fd socket_;
};

// The supervisor's descriptors of a worker.
struct Spawned {
  Pair control = socket_pair();
  Pair status = socket_pair();

  void ask_for(Server& server, const wire::SpawnT& spawn) {
    std::vector<int> fds{control.theirs.get(), 2, 2, status.theirs.get()};
    server.send(wire::encode(spawn), fds);
    control.theirs.reset();
    status.theirs.reset();
  }
  template <typename T>
  T told() {
    T packet{};
    auto received = receive_packet(status.ours.get());
    if (received && received->bytes.size() == sizeof packet)
      std::memcpy(&packet, received->bytes.data(), sizeof packet);
    return packet;
  }
};

inline wire::SpawnT unconfined_spawn() {
  wire::SpawnT spawn;
  spawn.role = "replayer";
  spawn.device = 0;
  spawn.unconfined = true;
  spawn.environment = {"REPLAYER_TEST=here"};
  return spawn;
}

}  // namespace kw::replayer
