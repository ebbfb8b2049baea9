#include "base/http/connection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/error.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/http/connection_state.h"
#include "base/http/url.h"

namespace kw::http {

namespace {

constexpr std::array kBundles = {
    "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Arch
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora, RHEL
    "/etc/pki/tls/certs/ca-bundle.crt",                   // older versions of both
    "/etc/ssl/ca-bundle.pem",                             // SUSE
    "/etc/ssl/cert.pem",                                  // Alpine
};
constexpr std::array kFolders = {"/etc/ssl/certs", "/etc/pki/tls/certs"};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

Result<> load_file(TlsContext& context, const std::string& file, std::string_view named_by) {
  boost::system::error_code error;
  context.load_verify_file(file, error);
  if (!error) return {};
  return fail(
      fmt::format("cannot read CA certificates from {}, named by {}: {}", file, named_by, error.message()),
      "give a file of certificates in PEM");
}

void load_what_is_there(TlsContext& context) {
  boost::system::error_code error;
  for (const char* file : kBundles)
    if (access(file, R_OK) == 0) {
      context.load_verify_file(file, error);
      if (!error) return;
    }
  for (const char* folder : kFolders)
    if (access(folder, R_OK) == 0) context.add_verify_path(folder, error);
}

Result<> load_authorities(TlsContext& context, const std::string& ca_file) {
  if (!ca_file.empty()) return load_file(context, ca_file, "the option for it");
  std::string file = environment("SSL_CERT_FILE");
  std::string folder = environment("SSL_CERT_DIR");
  if (file.empty() && folder.empty()) load_what_is_there(context);
  if (!file.empty())
    if (auto loaded = load_file(context, file, "SSL_CERT_FILE"); !loaded) return loaded;
  boost::system::error_code ignored;  // OpenSSL reads a folder when it searches a certificate
  if (!folder.empty()) context.add_verify_path(folder, ignored);
  return {};
}

std::shared_ptr<TlsContext> new_context(TlsContext::method method) {
  auto context = std::make_shared<TlsContext>(method);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  // An idle connection keeps no buffers inside OpenSSL.
  SSL_CTX_set_mode(context->native_handle(), SSL_MODE_RELEASE_BUFFERS);
  return context;
}

// Reports a missing file in plainer words than OpenSSL.
Result<> is_readable(const std::string& file, std::string_view what) {
  if (file.empty())
    return fail(fmt::format("TLS needs a certificate and its key; no file of the {} is given", what),
                "name both, in PEM");
  if (access(file.c_str(), R_OK) == 0) return {};
  return fail(fmt::format("cannot read the {} from {}: {}", what, file, std::strerror(errno)),
              "give a file in PEM that this user may read");
}

}  // namespace

Result<std::shared_ptr<TlsContext>> make_tls_context(const std::string& ca_file) {
  auto context = new_context(TlsContext::tls_client);
  context->set_verify_mode(boost::asio::ssl::verify_peer);
  if (auto loaded = load_authorities(*context, ca_file); !loaded) return std::unexpected(loaded.error());
  return context;
}

Result<std::shared_ptr<TlsContext>> make_server_tls_context(const std::string& certificate_file,
                                                            const std::string& key_file) {
  if (auto there = is_readable(certificate_file, "certificate"); !there)
    return std::unexpected(there.error());
  if (auto there = is_readable(key_file, "key"); !there) return std::unexpected(there.error());
  auto context = new_context(TlsContext::tls_server);
  SSL_CTX_set_options(context->native_handle(), SSL_OP_NO_RENEGOTIATION);
  boost::system::error_code error;
  // A service cannot ask for a passphrase.
  context->set_password_callback([](std::size_t, TlsContext::password_purpose) { return std::string(); },
                                 error);
  if (!error) context->use_certificate_chain_file(certificate_file, error);
  if (error)
    return fail(fmt::format("{} holds no certificate: {}", certificate_file, error.message()),
                "give a file in PEM, the server's own certificate first");
  context->use_private_key_file(key_file, TlsContext::pem, error);
  if (error && X509_R_KEY_VALUES_MISMATCH == ERR_GET_REASON(static_cast<unsigned long>(error.value())))
    return fail(fmt::format("the key in {} is not that of the certificate in {}", key_file, certificate_file),
                "give the two that were made together");
  if (error)
    return fail(fmt::format("{} holds no key that can be used: {}", key_file, error.message()),
                "give a file in PEM without a passphrase: openssl pkey -in KEY -out PLAIN");
  return context;
}

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

// Large enough for few calls, small enough that a slow connection sends one within the idle limit.
constexpr std::size_t kWritePiece = std::size_t{64} << 10;

error_code plain_error(error_code error) {
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

// The system probes a connection that was silent for a minute: this detects a lost peer, and keeps the entry
// of the connection in routers with address translation.
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

// OpenSSL checks the name itself, so that a wrong name has a specific error.
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
  close();  // the socket of an earlier attempt may have another address family
  set_deadline(state_->tcp, deadline);
  co_await state_->tcp.async_connect(to, asio::redirect_error(asio::use_awaitable, error));
  if (!error) prepare(state_->tcp.socket());
  co_return plain_error(error);
}

async::Task<error_code> Connection::start_tls(std::shared_ptr<TlsContext> context, std::string host,
                                              async::Deadline deadline) {
  error_code error;
  auto& tls = state_->tls.emplace(state_->tcp, *context);
  expect_host(tls.native_handle(), host);
  set_deadline(state_->tcp, deadline);
  co_await tls.async_handshake(asio::ssl::stream_base::client,
                               asio::redirect_error(asio::use_awaitable, error));
  co_return plain_error(error);
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
  done.error = plain_error(done.error);
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
    if (error) co_return plain_error(error);
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
