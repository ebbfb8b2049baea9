// A WebSocket client that makes its frames itself, so that a test can send any bytes.
#pragma once

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/async/loop.h"

namespace kw::test {

struct Frame {
  enum Op : std::uint8_t { more = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10, none = 15 };
  Op op = none;  // none: the connection has ended
  std::string payload;

  // Of a close frame; 0 without one.
  int code() const {
    if (op != close || payload.size() < 2) return 0;
    return static_cast<unsigned char>(payload[0]) << 8 | static_cast<unsigned char>(payload[1]);
  }
};

struct FrameForm {
  bool is_last = true;
  bool is_masked = true;
};

// The beginning of a frame that announces so many bytes of payload.
inline std::string frame_head(Frame::Op op, std::uint64_t bytes, FrameForm form = {}) {
  std::string head(1, static_cast<char>(op | (form.is_last ? 0x80 : 0)));
  const int mask = form.is_masked ? 0x80 : 0;
  const int width = bytes < 126 ? 0 : bytes < 65536 ? 2 : 8;
  head += static_cast<char>(mask | (width == 0 ? static_cast<int>(bytes) : width == 2 ? 126 : 127));
  for (int i = width - 1; i >= 0; --i) head += static_cast<char>(bytes >> (8 * i) & 0xff);
  return form.is_masked ? head + "mask" : head;
}

inline std::string frame(Frame::Op op, std::string payload, FrameForm form = {}) {
  const std::string head = frame_head(op, payload.size(), form);
  for (std::size_t i = 0; form.is_masked && i < payload.size(); ++i) payload[i] ^= "mask"[i % 4];
  return head + payload;
}

class SocketClient {
 public:
  // With a context: over TLS.
  explicit SocketClient(async::Loop& loop, boost::asio::ssl::context* tls = nullptr) : socket_(loop) {
    if (tls) tls_.emplace(socket_, *tls);
  }

  // Sends the handshake with these headers more; `answer` is the head of what came, and its body unless the
  // upgrade was taken.
  async::Task<> open(std::uint16_t port, std::string path = "/", std::string headers = {}) {
    co_await connect(port);
    co_await say("GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: keep-alive, Upgrade\r\n" +
                 "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
                 "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" + headers + "\r\n");
    co_await take_answer();
  }

  async::Task<> connect(std::uint16_t port) {
    co_await socket_.async_connect({boost::asio::ip::address_v4::loopback(), port},
                                   boost::asio::use_awaitable);
    if (tls_)
      co_await tls_->async_handshake(boost::asio::ssl::stream_base::client, boost::asio::use_awaitable);
  }

  async::Task<> take_answer() {
    while (!bytes_.contains("\r\n\r\n") && co_await fill(bytes_.size() + 1)) continue;
    const std::size_t end = std::min(bytes_.size(), bytes_.find("\r\n\r\n") + 4);
    answer = bytes_.substr(0, end);
    bytes_.erase(0, end);
    if (answer.starts_with("HTTP/1.1 101 ")) co_return;
    const std::size_t at = answer.find("Content-Length: ");
    const std::size_t length = at == answer.npos ? 0 : std::stoul(answer.substr(at + 16));
    co_await fill(length);
    answer += std::exchange(bytes_, {});
  }

  // False: the server has closed.
  async::Task<bool> say(std::string bytes) {
    boost::system::error_code error;
    auto done = boost::asio::redirect_error(boost::asio::use_awaitable, error);
    if (tls_)
      co_await boost::asio::async_write(*tls_, boost::asio::buffer(bytes), done);
    else
      co_await boost::asio::async_write(socket_, boost::asio::buffer(bytes), done);
    co_return !error;
  }

  async::Task<bool> send(std::string message) { return say(frame(Frame::text, std::move(message))); }

  async::Task<Frame> next() {
    if (!co_await fill(2)) co_return Frame{};
    const auto at = [this](std::size_t i) { return static_cast<unsigned char>(bytes_[i]); };
    const std::size_t width = (at(1) & 0x7f) < 126 ? 0 : (at(1) & 0x7f) == 126 ? 2 : 8;
    if (!co_await fill(2 + width)) co_return Frame{};
    std::size_t length = width == 0 ? at(1) & 0x7f : 0;
    for (std::size_t i = 0; i < width; ++i) length = length << 8 | at(2 + i);
    if (!co_await fill(2 + width + length)) co_return Frame{};
    Frame got{static_cast<Frame::Op>(at(0) & 0x0f), bytes_.substr(2 + width, length)};
    bytes_.erase(0, 2 + width + length);
    co_return got;
  }

  // The next frame of that kind, or the end.
  async::Task<Frame> next(Frame::Op op) {
    while (true) {
      Frame got = co_await next();
      if (got.op == op || got.op == Frame::none) co_return got;
    }
  }

  void close() { socket_.close(); }
  bool is_open() const { return socket_.is_open(); }

  std::string answer;

 private:
  async::Task<bool> fill(std::size_t bytes) {
    if (bytes_.size() >= bytes) co_return true;
    boost::system::error_code error;
    auto done = boost::asio::redirect_error(boost::asio::use_awaitable, error);
    auto into = boost::asio::dynamic_buffer(bytes_);
    const auto least = boost::asio::transfer_at_least(bytes - bytes_.size());
    if (tls_)
      co_await boost::asio::async_read(*tls_, into, least, done);
    else
      co_await boost::asio::async_read(socket_, into, least, done);
    co_return !error;
  }

  boost::asio::ip::tcp::socket socket_;
  std::optional<boost::asio::ssl::stream<boost::asio::ip::tcp::socket&>> tls_;
  std::string bytes_;
};

}  // namespace kw::test
