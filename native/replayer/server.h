// The parent of the replayers: forks one, in the sandbox, for each Spawn, and never touches a device itself.
// A replayer answers the supervisor's packets.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/files.h"
#include "worker.h"

namespace kw::replayer {

// Blocking send and receive of the packets of the supervisor's channels, over a SOCK_SEQPACKET socket.
inline constexpr std::size_t max_packet_bytes = 64 * 1024;

struct Packet {
  std::string bytes;
  std::vector<Fd> fds;
};

// The caller keeps the descriptors.
Result<> send_packet(int socket, std::string_view bytes, std::span<const int> fds = {});

// Waits for a packet. An error if the other end closed, or a packet is over the limit.
Result<Packet> receive_packet(int socket);

// Called in a forked child; returns only in a process below it. That process's parent waits for its end and
// then removes `folder`.
void enter_unconfined(int status_fd, const std::string& folder);

// Sends Ready, then forks until the other end closes. `serve` runs in each child with its control socket and
// the device's ordinal, and returns the child's exit status. Returns the server's exit status.
int serve_forks(int control, const std::function<int(int control, int device)>& serve);

// A replayer's main function: answers requests until the other end closes or the context is broken.
int serve_replays(int control, int device);

// The same, and then gives back all that it holds on the device.
void answer_requests(int control, int device, Timing timing);

}  // namespace kw::replayer
