#include "process/output_tail.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>

#include "async/spawn.h"
#include "base/text.h"

namespace kw::process {

OutputTail::OutputTail(async::Loop& loop, Fd reader) : reader_(loop, reader.release()) {}

Result<std::pair<std::shared_ptr<OutputTail>, Fd>> OutputTail::open(async::Loop& loop) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(fmt::format("cannot create a pipe: {}", errno_text(errno)));
  Fd reader(ends[0]);
  Fd writer(ends[1]);
  ::fcntl(reader.get(), F_SETFL, O_NONBLOCK);
  auto tail = std::make_shared<OutputTail>(loop, std::move(reader));
  async::spawn(loop, tail->read(tail));
  return std::pair(std::move(tail), std::move(writer));
}

async::Task<> OutputTail::read(std::shared_ptr<OutputTail> self) {
  std::string chunk(256 * 1024, '\0');
  while (true) {
    boost::system::error_code error;
    std::size_t n = co_await self->reader_.async_read_some(
        boost::asio::buffer(chunk), boost::asio::redirect_error(boost::asio::use_awaitable, error));
    if (error) co_return;
    self->keep(std::string_view(chunk).substr(0, n));
  }
}

void OutputTail::keep(std::string_view bytes) {
  total_bytes_ += bytes.size();
  std::size_t room = kept_bytes - head_.size();
  head_ += bytes.substr(0, room);
  if (bytes.size() <= room) return;
  bytes.remove_prefix(room);
  tail_ += bytes.substr(bytes.size() - std::min(bytes.size(), kept_bytes));
  if (tail_.size() > kept_bytes) tail_.erase(0, tail_.size() - kept_bytes);
}

std::string OutputTail::text() const {
  std::uint64_t kept = head_.size() + tail_.size();
  if (kept == total_bytes_) return to_utf8(head_ + tail_);
  return to_utf8(head_) + fmt::format("\n[... {} bytes left out]\n", total_bytes_ - kept) + to_utf8(tail_);
}

void OutputTail::close() {
  boost::system::error_code ignored;
  reader_.close(ignored);
}

}  // namespace kw::process
