#include "base/process/pipes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstring>

#include "base/async/loop.h"
#include "base/core/text.h"

namespace kw::process {
namespace {

constexpr std::size_t max_fds = 16;
using Control = std::array<char, CMSG_SPACE(max_fds * sizeof(int))>;

void attach(msghdr& message, Control& control, const std::vector<int>& fds) {
  if (fds.empty()) return;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
  std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
}

std::vector<Fd> detach(msghdr& message) {
  std::vector<Fd> fds;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
      fds.emplace_back(fd);
    }
  }
  return fds;
}

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK;
}

}  // namespace

Channel::Channel(async::Loop& loop, Fd socket) : socket_(loop, socket.release()) {}

Result<std::pair<Channel, Fd>> Channel::open(async::Loop& loop) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(fmt::format("cannot create a socket pair: {}", errno_text(errno)));
  Fd ours(ends[0]);
  Fd theirs(ends[1]);
  return std::pair(Channel(loop, std::move(ours)), std::move(theirs));
}

async::Task<Result<>> Channel::send(std::string bytes, std::vector<int> fds) {
  if (bytes.size() > max_packet_bytes || fds.size() > max_fds)
    co_return fail(
        fmt::format("a message of {} bytes and {} descriptors is over the limit", bytes.size(), fds.size()));
  while (true) {
    iovec part{bytes.data(), bytes.size()};
    Control control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    attach(message, control, fds);
    if (::sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) co_return Result<>{};
    if (errno == EINTR) continue;
    if (!would_block()) co_return fail(fmt::format("cannot send a message: {}", errno_text(errno)));
    boost::system::error_code error;
    co_await socket_.async_wait(socket_.wait_write,
                                boost::asio::redirect_error(boost::asio::use_awaitable, error));
    if (error) co_return fail("cannot send a message: the channel was closed");
  }
}

async::Task<Result<Packet>> Channel::receive() {
  Packet packet;
  packet.bytes.resize(max_packet_bytes);
  while (true) {
    iovec part{packet.bytes.data(), packet.bytes.size()};
    Control control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    ssize_t n = ::recvmsg(socket_.native_handle(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n >= 0) {
      packet.fds = detach(message);
      if (n == 0) co_return fail("the channel was closed at the other end");
      if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) co_return fail("a message was over the limit");
      packet.bytes.resize(static_cast<std::size_t>(n));
      co_return packet;
    }
    if (errno == EINTR) continue;
    if (!would_block()) co_return fail(fmt::format("cannot receive a message: {}", errno_text(errno)));
    boost::system::error_code error;
    co_await socket_.async_wait(socket_.wait_read,
                                boost::asio::redirect_error(boost::asio::use_awaitable, error));
    if (error) co_return fail("the channel was closed");
  }
}

void Channel::close() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

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
