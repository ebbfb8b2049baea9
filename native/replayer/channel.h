// Packets over a SOCK_SEQPACKET socket as the supervisor's channels have them, for a process that only ever
// waits for the next one.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace kw::replayer {

inline constexpr std::size_t max_packet_bytes = 64 * 1024;

struct Packet {
  std::string bytes;
  std::vector<Fd> fds;
};

// Descriptors stay the caller's.
Result<> send_packet(int socket, std::string_view bytes, std::span<const int> fds = {});

// Waits. An error when the other end is gone, or a packet was over the limit.
Result<Packet> receive_packet(int socket);

}  // namespace kw::replayer
