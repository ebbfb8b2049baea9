// Connections to a child on the loop: packets with file descriptors over a SOCK_SEQPACKET socket, and the
// first and last bytes of its output.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/async/loop.h"
#include "base/core/files.h"

namespace kw::process {

// Packets over a SOCK_SEQPACKET socket, with file descriptors.
inline constexpr std::size_t max_packet_bytes = 64 * 1024;

struct Packet {
  std::string bytes;
  std::vector<Fd> fds;
};

class Channel {
 public:
  Channel(async::Loop& loop, Fd socket);

  // A connected pair: the Channel is on the loop, the descriptor goes to a child.
  static Result<std::pair<Channel, Fd>> open(async::Loop& loop);

  // The caller keeps ownership of the descriptors.
  async::Task<Result<>> send(std::string bytes, std::vector<int> fds);

  // An error if the peer has closed its end, or the packet is larger than the limit.
  async::Task<Result<Packet>> receive();

  void close();

 private:
  boost::asio::posix::stream_descriptor socket_;
};

// Reads a process's output without delay and keeps its first and last bytes.
class OutputTail {
 public:
  static constexpr std::size_t kept_bytes = 16 * 1024;  // of the head, and of the tail

  // A pipe whose write end goes to the child; reading starts at once and ends with the last writer.
  static Result<std::pair<std::shared_ptr<OutputTail>, Fd>> open(async::Loop& loop);

  OutputTail(async::Loop& loop, Fd reader);
  std::string text() const;  // UTF-8, with a note in place of omitted bytes
  std::uint64_t total_bytes() const { return total_bytes_; }
  void close();

 private:
  async::Task<> read(std::shared_ptr<OutputTail> self);
  void keep(std::string_view bytes);

  boost::asio::posix::stream_descriptor reader_;
  std::string head_;
  std::string tail_;
  std::uint64_t total_bytes_ = 0;
};

}  // namespace kw::process
