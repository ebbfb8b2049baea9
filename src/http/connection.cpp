#include "http/connection.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <optional>

#include "http/url.h"

namespace kw::http {

namespace asio = boost::asio;
using asio::ip::tcp;

struct Connection::State {
  explicit State(async::Loop& loop) : tcp(loop) {}
  explicit State(asio::ip::tcp::socket accepted) : tcp(std::move(accepted)) {}

  boost::beast::tcp_stream tcp;
  std::optional<asio::ssl::stream<boost::beast::tcp_stream&>> tls;
};

namespace {

// Large enough for few calls, small enough that a slow line makes progress within the idle limit.
constexpr std::size_t kWritePiece = std::size_t{64} << 10;

error_code plain(error_code error) {
  return error == boost::beast::error::timeout ? error_code(asio::error::timed_out) : error;
}

void set_deadline(boost::beast::tcp_stream& stream, async::Deadline deadline) {
  if (deadline.at == async::SteadyClock::time_point::max())
    stream.expires_never();
  else
    stream.expires_at(deadline.at);
}

void without_delay(tcp::socket& socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
}

// A machine that vanished says nothing: the system asks after a minute's silence, which also keeps routers on
// the way from forgetting the connection.
void with_keep_alive(tcp::socket& socket) {
  error_code ignored;
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  auto set = [&](int option, int value) {
    ::setsockopt(socket.native_handle(), IPPROTO_TCP, option, &value, sizeof value);
  };
  set(TCP_KEEPIDLE, 60);
  set(TCP_KEEPINTVL, 10);
  set(TCP_KEEPCNT, 6);
}

void prepare(tcp::socket& socket) {
  keep_from_children(socket.native_handle());
  without_delay(socket);
  with_keep_alive(socket);
}

// Checked by OpenSSL itself, so that a wrong name has an error of its own.
void expect_host(SSL* ssl, const std::string& host) {
  if (is_address(host)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str());
    return;
  }
  SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  SSL_set1_host(ssl, host.c_str());
  SSL_set_tlsext_host_name(ssl, host.c_str());
}

}  // namespace

Connection::Connection(async::Loop& loop) : state_(std::make_unique<State>(loop)) {}

Connection::Connection(tcp::socket accepted) : state_(std::make_unique<State>(std::move(accepted))) {
  prepare(state_->tcp.socket());
}

Connection::~Connection() = default;

async::Task<error_code> Connection::connect(tcp::endpoint to, async::Deadline deadline) {
  error_code error;
  close();  // an attempt before this one may have been for another family of addresses
  set_deadline(state_->tcp, deadline);
  co_await state_->tcp.async_connect(to, asio::redirect_error(asio::use_awaitable, error));
  if (!error) prepare(state_->tcp.socket());
  co_return plain(error);
}

async::Task<error_code> Connection::start_tls(std::shared_ptr<TlsContext> context, std::string host,
                                              async::Deadline deadline) {
  error_code error;
  auto& tls = state_->tls.emplace(state_->tcp, *context);
  expect_host(tls.native_handle(), host);
  set_deadline(state_->tcp, deadline);
  co_await tls.async_handshake(asio::ssl::stream_base::client,
                               asio::redirect_error(asio::use_awaitable, error));
  co_return plain(error);
}

async::Task<error_code> Connection::accept_tls(std::shared_ptr<TlsContext> context) {
  error_code error;
  auto& tls = state_->tls.emplace(state_->tcp, *context);
  state_->tcp.expires_never();
  co_await tls.async_handshake(asio::ssl::stream_base::server,
                               asio::redirect_error(asio::use_awaitable, error));
  co_return error;
}

bool Connection::secure() const {
  return state_->tls.has_value();
}

std::string Connection::certificate_problem() const {
  if (!state_->tls) return {};
  long result = SSL_get_verify_result(state_->tls->native_handle());
  return result == X509_V_OK ? std::string() : X509_verify_cert_error_string(result);
}

async::Task<Transfer> Connection::read(std::span<char> into, async::Deadline deadline) {
  Transfer done;
  asio::mutable_buffer buffer(into.data(), into.size());
  set_deadline(state_->tcp, deadline);
  auto token = asio::redirect_error(asio::use_awaitable, done.error);
  if (state_->tls)
    done.bytes = co_await state_->tls->async_read_some(buffer, token);
  else
    done.bytes = co_await state_->tcp.async_read_some(buffer, token);
  done.error = plain(done.error);
  co_return done;
}

async::Task<error_code> Connection::write(std::string_view bytes, std::chrono::milliseconds idle) {
  while (!bytes.empty()) {
    error_code error;
    asio::const_buffer piece(bytes.data(), std::min(bytes.size(), kWritePiece));
    set_deadline(state_->tcp, async::Deadline::in(idle));
    auto token = asio::redirect_error(asio::use_awaitable, error);
    std::size_t written = 0;
    if (state_->tls)
      written = co_await state_->tls->async_write_some(piece, token);
    else
      written = co_await state_->tcp.async_write_some(piece, token);
    if (error) co_return plain(error);
    bytes.remove_prefix(written);
  }
  co_return error_code();
}

async::Task<error_code> Connection::wait_readable() {
  error_code error;
  co_await state_->tcp.socket().async_wait(tcp::socket::wait_read,
                                           asio::redirect_error(asio::use_awaitable, error));
  co_return error;
}

Connection::Peer Connection::peer() const {
  char byte = 0;
  auto socket = state_->tcp.socket().native_handle();
  ssize_t count = socket < 0 ? 0 : recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (count > 0) return Peer::spoke;
  return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? Peer::silent : Peer::gone;
}

bool Connection::hung_up() const {
  pollfd socket{state_->tcp.socket().native_handle(), POLLRDHUP, 0};
  return socket.fd < 0 || (::poll(&socket, 1, 0) > 0 && socket.revents != 0);
}

void Connection::cancel() {
  error_code ignored;
  state_->tcp.socket().cancel(ignored);
}

void Connection::close() {
  error_code ignored;
  state_->tcp.socket().close(ignored);
}

async::Task<> Connection::say_goodbye(std::chrono::milliseconds limit) {
  if (!state_->tls || hung_up()) co_return;
  error_code ignored;
  set_deadline(state_->tcp, async::Deadline::in(limit));
  co_await state_->tls->async_shutdown(asio::redirect_error(asio::use_awaitable, ignored));
}

void Connection::end_writing() {
  error_code ignored;
  state_->tcp.socket().shutdown(tcp::socket::shutdown_send, ignored);
}

void Connection::reset() {
  error_code ignored;
  state_->tcp.socket().set_option(asio::socket_base::linger(true, 0), ignored);
  close();
}

void keep_from_children(int socket) {
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);
}

bool is_end(const error_code& error) {
  return error == asio::error::eof || error == asio::ssl::error::stream_truncated;
}

}  // namespace kw::http
