#include "base/http/server_socket.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/websocket/rfc6455.hpp>

#include "base/core/crypto.h"
#include "base/core/text.h"

namespace kw::http {

using namespace std::chrono_literals;
namespace beast = boost::beast;

namespace {

constexpr std::size_t kSmallMessageBytes = std::size_t{64} << 10;  // is received in spite of the total
constexpr std::size_t kReadAtOnce = std::size_t{64} << 10;
// Bytes that are not payload, since the last message: about 10,000 fragments, or hours of pings.
constexpr std::size_t kMostOverheadBytes = std::size_t{64} << 10;
constexpr std::size_t kKeyBytes = 16;
constexpr std::size_t kMostWaiting = 8;  // messages that a client sends before it has the answers
constexpr auto kCloseHandshake = 3s;
constexpr auto kUnreadTime =
    1s;  // for the rest of what a client sends: a reset could cost it the close frame

// All values of that name, as one list.
std::string listed(const Headers& headers, std::string_view name) {
  std::string all;
  for (const Header& each : headers)
    if (iequals(each.name, name)) all += (all.empty() ? "" : ", ") + each.value;
  return all;
}

using Handshake = beast::http::request<beast::http::empty_body>;

// The fields that a handshake has; no extension is taken.
Handshake handshake_of(const Request& request) {
  Handshake handshake(request.method == "GET" ? beast::http::verb::get : beast::http::verb::head, "/", 11);
  for (const char* name : {"Host", "Connection", "Upgrade", "Sec-WebSocket-Key", "Sec-WebSocket-Version"})
    if (auto value = listed(request.headers, name); !value.empty()) handshake.set(name, value);
  return handshake;
}

}  // namespace

// Beast calls these by argument-dependent lookup: after an expired time, and after both close frames.
static void beast_close_socket(Wire& wire) {
  wire.connection().close();
}

template <typename Handler>
void async_teardown(beast::role_type, Wire& wire, Handler&& handler) {
  boost::asio::post(wire.get_executor(), [handler = std::forward<Handler>(handler)]() mutable {
    std::move(handler)(error_code());
  });
}

Wire::Wire(std::shared_ptr<Connection> connection, std::string early)
    : connection_(std::move(connection)), streams_(connection_->state()), early_(std::move(early)) {
  streams_.tcp.expires_never();
}

void Wire::took(std::size_t bytes, error_code& error) {
  since_message_ += bytes;
  if (bytes > 0 && !unfinished_since_) unfinished_since_ = async::SteadyClock::now();
  // ServerSocket closes it politely before, where it can.
  if (error || overhead() <= 2 * kMostOverheadBytes + kReadAtOnce) return;
  error = boost::asio::error::connection_aborted;
  connection_->close();
}

ServerSocket::ServerSocket(async::Loop& loop, std::shared_ptr<Connection> connection, std::string early,
                           const ServerOptions& options, ServerTotalsPtr totals)
    : loop_(loop),
      totals_(std::move(totals)),
      max_held_bytes_(options.max_request_bytes),
      message_timeout_(options.body_timeout),
      write_timeout_(options.write_timeout),
      quiet_timeout_(options.socket_quiet_timeout),
      stream_(std::move(connection), std::move(early)),
      arrived_(loop),
      ended_(loop) {
  ++totals_->sockets;
  stream_.read_message_max(options.max_body_bytes);
  stream_.text(true);
  stream_.auto_fragment(false);
  stream_.set_option(
      beast::websocket::stream_base::timeout{kCloseHandshake, options.socket_idle_timeout, true});
  // A control frame between messages is complete.
  stream_.control_callback([this](beast::websocket::frame_type, beast::string_view) {
    if (incoming_.empty()) stream_.next_layer().is_between_frames();
  });
}

ServerSocket::~ServerSocket() {
  release(held_);
  --totals_->sockets;
}

std::optional<RequestError> ServerSocket::refusal_of(const Request& request, bool is_11,
                                                     const ServerOptions& options,
                                                     const ServerTotals& totals) {
  if (!is_11 || !beast::websocket::is_upgrade(handshake_of(request)))
    return RequestError{426, "upgrade_required", "this path takes WebSockets: send Upgrade: websocket"};
  if (header(request.headers, "Sec-WebSocket-Version") != "13")
    return RequestError{426, "upgrade_required", "the version of the WebSocket is not 13"};
  const auto key = base64_decoded(header(request.headers, "Sec-WebSocket-Key"));
  if (!key || key->size() != kKeyBytes)
    return RequestError{400, "invalid", "Sec-WebSocket-Key is not the base64 of 16 bytes"};
  if (totals.sockets >= options.max_sockets)
    return RequestError{503, "busy",
                        fmt::format("{} WebSockets are open, which is the limit", totals.sockets)};
  return {};
}

async::Task<bool> ServerSocket::accept(const Request& request) {
  error_code error;
  const Handshake handshake = handshake_of(request);
  co_await stream_.async_accept(handshake, boost::asio::redirect_error(boost::asio::use_awaitable, error));
  if (error) {
    ended_.set();
    co_return false;
  }
  async::spawn(loop_, receive(shared_from_this()));
  co_return true;
}

void ServerSocket::hold(std::size_t bytes) {
  held_ += bytes;
  totals_->held_bytes += bytes;
}

void ServerSocket::release(std::size_t bytes) {
  held_ -= bytes;
  totals_->held_bytes -= bytes;
}

// A piece of a message, which may be its last.
std::optional<ServerSocket::Fault> ServerSocket::took(std::size_t bytes) {
  Wire& wire = stream_.next_layer();
  wire.took_payload(bytes);
  hold(bytes);
  if (wire.overhead() > kMostOverheadBytes + kReadAtOnce)
    return Fault{SocketClose::policy, "too many frames"};
  if (max_held_bytes_ > 0 && incoming_.size() > kSmallMessageBytes && totals_->held_bytes > max_held_bytes_)
    return Fault{SocketClose::busy, "too many large messages at once"};
  if (!stream_.is_message_done()) return {};
  if (!stream_.got_text()) return Fault{SocketClose::unsupported, "only text is taken"};
  if (waiting_.size() >= kMostWaiting)
    return Fault{SocketClose::policy, "too many messages without an answer"};
  wire.begin_message();
  wire.is_between_frames();
  used_at_ = async::SteadyClock::now();
  waiting_.push_back(std::exchange(incoming_, {}));
  arrived_.set();
  return {};
}

// One read is always pending, so that pings are answered, and the end is noticed, while the handler works.
async::Task<> ServerSocket::receive(std::shared_ptr<ServerSocket> self) {
  error_code error;
  while (!error) {
    auto buffer = boost::asio::dynamic_buffer(self->incoming_);
    const std::size_t bytes = co_await self->stream_.async_read_some(
        buffer, kReadAtOnce, boost::asio::redirect_error(boost::asio::use_awaitable, error));
    auto fault = error ? std::nullopt : self->took(bytes);
    if (!fault) continue;
    if (!std::exchange(self->is_closing_, true)) co_await close_stream(self, fault->code, fault->why);
    break;
  }
  self->ended_.set();
  self->arrived_.set();
}

async::Task<> ServerSocket::close_stream(std::shared_ptr<ServerSocket> self, SocketClose code,
                                         std::string why) {
  error_code ignored;
  beast::websocket::close_reason reason(static_cast<beast::websocket::close_code>(code), why);
  co_await self->stream_.async_close(reason,
                                     boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
}

void ServerSocket::begin_close(SocketClose code, std::string why) {
  if (gone() || std::exchange(is_closing_, true)) return;
  arrived_.set();
  async::spawn(loop_, close_stream(shared_from_this(), code, std::move(why)));
}

void ServerSocket::end_overdue(async::SteadyClock::time_point now) {
  auto unfinished_since = stream_.next_layer().unfinished_since();
  if (unfinished_since && now - *unfinished_since > message_timeout_)
    begin_close(SocketClose::policy, "a message did not arrive in time");
  else if (is_awaited_ && now - used_at_ > quiet_timeout_)
    begin_close(SocketClose::going_away, "no message came for a long time");
}

async::Task<std::optional<std::string>> ServerSocket::read() {
  release(std::exchange(answered_, 0));
  is_awaited_ = true;
  while (waiting_.empty() && !is_closing_ && !gone()) {
    arrived_.reset();
    co_await arrived_.wait();
  }
  is_awaited_ = false;
  // A client may send its last message and close at once.
  if (is_closing_ || waiting_.empty()) co_return std::nullopt;
  std::string message = std::move(waiting_.front());
  waiting_.pop_front();
  answered_ = message.size();
  co_return message;
}

async::Task<bool> ServerSocket::send(const std::string* text) {
  error_code error;
  co_await stream_.async_write(boost::asio::buffer(*text),
                               boost::asio::redirect_error(boost::asio::use_awaitable, error));
  co_return !error;
}

async::Task<bool> ServerSocket::write(std::string text) {
  if (is_closing_ || gone()) co_return false;
  auto sent = co_await async::within(async::Deadline::in(write_timeout_), nullptr, send(&text));
  used_at_ = async::SteadyClock::now();
  // A client that does not read would not read a close frame either.
  if (!sent.value) stream_.next_layer().connection().close();
  co_return sent.value.value_or(false);
}

async::Task<> ServerSocket::close(SocketClose code, std::string why) {
  begin_close(code, std::move(why));
  co_await async::within(async::Deadline::in(2 * kCloseHandshake), nullptr, ended_.wait());
}

async::Task<> ServerSocket::finish() {
  co_await close(SocketClose::normal, "");
  Connection& connection = stream_.next_layer().connection();
  if (connection.secure()) co_return;
  connection.end_writing();
  std::array<char, 4096> unread;
  auto deadline = async::Deadline::in(kUnreadTime);
  while (!(co_await connection.read(unread, deadline)).error && !deadline.passed()) {
  }
}

}  // namespace kw::http
