// What a process prints, read as fast as it comes and kept only in part: the first and the last bytes.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "async/loop.h"
#include "base/fd.h"

namespace kw::process {

class OutputTail {
 public:
  static constexpr std::size_t kept_bytes = 16 * 1024;  // of the head, and of the tail

  // A pipe whose writing end goes to the child; reading starts at once and ends with the last writer.
  static Result<std::pair<std::shared_ptr<OutputTail>, Fd>> open(async::Loop& loop);

  OutputTail(async::Loop& loop, Fd reader);
  std::string text() const;  // UTF-8, with a note where bytes were left out
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
