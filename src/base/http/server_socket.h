// A WebSocket on a connection that the server has accepted, with limits for its client.
#pragma once

#include <boost/beast/websocket/stream.hpp>
#include <deque>
#include <expected>
#include <memory>
#include <optional>
#include <string>

#include "base/async/wait.h"
#include "base/http/connection_state.h"
#include "base/http/served_names.h"
#include "base/http/server.h"
#include "base/http/web_socket.h"

namespace kw::http {

// Of all sessions of a server. Sessions and their WebSockets share it, since they may end after the server.
struct ServerTotals {
  std::size_t held_bytes = 0;  // of requests and messages that are being received or answered
  std::size_t sockets = 0;     // WebSockets
};

using ServerTotalsPtr = std::shared_ptr<ServerTotals>;

// The transport below the frames, plain or TLS. It returns the bytes that came with the request first.
class Wire {
 public:
  using executor_type = boost::asio::any_io_executor;

  Wire(std::shared_ptr<Connection> connection, std::string early);

  executor_type get_executor() { return streams_.tcp.get_executor(); }
  Connection& connection() { return *connection_; }

  // Bytes that came since the last message. The limit is on those that are not payload: headers of frames,
  // empty fragments, pings. Beyond it the connection is cut, since the frame layer reports none of them.
  void begin_message() { since_message_ = payload_ = 0; }
  void took_payload(std::size_t bytes) { payload_ += bytes; }
  std::size_t overhead() const { return since_message_ - std::min(since_message_, payload_); }
  std::optional<async::SteadyClock::time_point> unfinished_since() const { return unfinished_since_; }
  void is_between_frames() { unfinished_since_.reset(); }

  template <typename Buffers, typename Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(error_code, std::size_t)>(
        [this](auto handler, const Buffers& into) { this->read(into, std::move(handler)); }, token, buffers);
  }

  template <typename Buffers, typename Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(error_code, std::size_t)>(
        [this](auto handler, const Buffers& from) {
          if (streams_.tls)
            streams_.tls->async_write_some(from, std::move(handler));
          else
            streams_.tcp.async_write_some(from, std::move(handler));
        },
        token, buffers);
  }

 private:
  // Counts, and hands on. The handler's cancellation is not passed on: a read that breaks off would end the
  // WebSocket.
  template <typename Buffers, typename Handler>
  void read(const Buffers& into, Handler handler) {
    auto counted = [this, handler = std::move(handler)](error_code error, std::size_t bytes) mutable {
      took(bytes, error);
      std::move(handler)(error, bytes);
    };
    if (!early_.empty()) {
      const std::size_t bytes = boost::asio::buffer_copy(into, boost::asio::buffer(early_));
      early_.erase(0, bytes);
      boost::asio::post(get_executor(), [counted = std::move(counted), bytes]() mutable {
        std::move(counted)(error_code(), bytes);
      });
    } else if (streams_.tls) {
      streams_.tls->async_read_some(into, std::move(counted));
    } else {
      streams_.tcp.async_read_some(into, std::move(counted));
    }
  }
  void took(std::size_t bytes, error_code& error);

  std::shared_ptr<Connection> connection_;
  Connection::State& streams_;
  std::string early_;
  std::size_t since_message_ = 0;
  std::size_t payload_ = 0;
  std::optional<async::SteadyClock::time_point> unfinished_since_;
};

class ServerSocket : public WebSocket, public std::enable_shared_from_this<ServerSocket> {
 public:
  ServerSocket(async::Loop& loop, std::shared_ptr<Connection> connection, std::string early,
               const ServerOptions& options, ServerTotalsPtr totals);
  ~ServerSocket() override;
  ServerSocket(const ServerSocket&) = delete;

  // Why this request gets no WebSocket. `is_11`: of HTTP/1.1.
  static std::optional<RequestError> refusal_of(const Request& request, bool is_11,
                                                const ServerOptions& options, const ServerTotals& totals);

  // Answers the handshake, and begins to receive. False: the client got an error instead.
  async::Task<bool> accept(const Request& request);
  // Closes what is open, and waits for the end, a few seconds at most.
  async::Task<> finish();
  // Closes a WebSocket that exceeds one of its times. The server calls it periodically.
  void end_overdue(async::SteadyClock::time_point now);

  async::Task<std::optional<std::string>> read() override;
  async::Task<bool> write(std::string text) override;
  async::Task<> close(SocketClose code, std::string why) override;
  bool gone() const override { return ended_.is_set(); }
  async::Task<> until_gone() override { return ended_.wait(); }

 private:
  struct Fault {
    SocketClose code;
    const char* why;
  };

  static async::Task<> receive(std::shared_ptr<ServerSocket> self);
  static async::Task<> close_stream(std::shared_ptr<ServerSocket> self, SocketClose code, std::string why);
  async::Task<bool> send(const std::string* text);
  std::optional<Fault> took(std::size_t bytes);
  void begin_close(SocketClose code, std::string why);
  void hold(std::size_t bytes);
  void release(std::size_t bytes);

  async::Loop& loop_;
  ServerTotalsPtr totals_;
  std::size_t max_held_bytes_;
  std::chrono::milliseconds message_timeout_;
  std::chrono::milliseconds write_timeout_;
  std::chrono::milliseconds quiet_timeout_;
  boost::beast::websocket::stream<Wire, false> stream_;
  async::Event arrived_;  // a message, or the end
  async::Event ended_;
  std::string incoming_;
  std::deque<std::string> waiting_;
  std::size_t held_ = 0;      // bytes of this one's messages
  std::size_t answered_ = 0;  // bytes of the message that the handler answers now
  bool is_awaited_ = false;   // the handler waits for a message
  async::SteadyClock::time_point used_at_ = async::SteadyClock::now();
  bool is_closing_ = false;
};

}  // namespace kw::http
