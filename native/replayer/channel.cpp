#include "channel.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace kw::replayer {
namespace {

constexpr std::size_t max_fds = 16;
using Control = std::array<char, CMSG_SPACE(max_fds * sizeof(int))>;

void attach(msghdr& message, Control& control, std::span<const int> fds) {
  if (fds.empty()) return;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(fds.size_bytes());
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(fds.size_bytes());
  std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
}

void detach(msghdr& message, std::vector<Fd>& fds) {
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
      fds.emplace_back(fd);
    }
  }
}

}  // namespace

Result<> send_packet(int socket, std::string_view bytes, std::span<const int> fds) {
  if (bytes.size() > max_packet_bytes || fds.size() > max_fds)
    return fail(
        fmt::format("a message of {} bytes and {} descriptors is over the limit", bytes.size(), fds.size()));
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  attach(message, control, fds);
  while (::sendmsg(socket, &message, MSG_NOSIGNAL) < 0)
    if (errno != EINTR) return fail(fmt::format("cannot send a message: {}", errno_text(errno)));
  return {};
}

Result<Packet> receive_packet(int socket) {
  Packet packet;
  packet.bytes.resize(max_packet_bytes);
  iovec part{packet.bytes.data(), packet.bytes.size()};
  alignas(cmsghdr) Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t n = 0;
  while ((n = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC)) < 0)
    if (errno != EINTR) return fail(fmt::format("cannot receive a message: {}", errno_text(errno)));
  detach(message, packet.fds);
  if (n == 0) return fail("the channel was closed at the other end");
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) return fail("a message was over the limit");
  packet.bytes.resize(static_cast<std::size_t>(n));
  return packet;
}

}  // namespace kw::replayer
