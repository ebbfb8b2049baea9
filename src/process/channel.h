// Packets over a SOCK_SEQPACKET socket, with descriptors alongside.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "async/loop.h"
#include "base/fd.h"

namespace kw::process {

inline constexpr std::size_t max_packet_bytes = 64 * 1024;

struct Packet {
  std::string bytes;
  std::vector<Fd> fds;
};

class Channel {
 public:
  Channel(async::Loop& loop, Fd socket);

  // A connected pair: ours on the loop, theirs to hand to a child.
  static Result<std::pair<Channel, Fd>> open(async::Loop& loop);

  // Descriptors stay the caller's.
  async::Task<Result<>> send(std::string bytes, std::vector<int> fds);

  // An error when the other end is gone, or the packet is larger than the limit.
  async::Task<Result<Packet>> receive();

  void close();

 private:
  boost::asio::posix::stream_descriptor socket_;
};

}  // namespace kw::process
