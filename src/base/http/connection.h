// One TCP connection, plain or under TLS, with a limit on each wait; and the TLS contexts of client and
// server.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/async/loop.h"
#include "base/core/result.h"

namespace boost::asio::ssl {
class context;
}

namespace kw::http {

using TlsContext = boost::asio::ssl::context;

// TLS 1.2 or newer, with verified certificates. Authorities come from `ca_file`, else from SSL_CERT_FILE and
// SSL_CERT_DIR, else from the usual places of Linux distributions, searched at run time because the program
// may run on another distribution. The error names the unreadable file.
Result<std::shared_ptr<TlsContext>> make_tls_context(const std::string& ca_file);

// For a server: TLS 1.2 or newer. The error names the unreadable file, or states that key and certificate do
// not match.
Result<std::shared_ptr<TlsContext>> make_server_tls_context(const std::string& certificate_file,
                                                            const std::string& key_file);

using boost::system::error_code;

// One TCP connection, plain or under TLS, with a limit on each wait.
struct Transfer {
  std::size_t bytes = 0;
  error_code error;
};

// A timeout ends the wait with asio's timed_out and closes the connection.
class Connection {
 public:
  explicit Connection(async::Loop& loop);
  explicit Connection(boost::asio::ip::tcp::socket accepted);
  ~Connection();

  async::Task<error_code> connect(boost::asio::ip::tcp::endpoint to, async::Deadline deadline);

  // The client's TLS handshake; the certificate must be trusted and valid for `host`.
  async::Task<error_code> start_tls(std::shared_ptr<TlsContext> context, std::string host,
                                    async::Deadline deadline);
  // The server's TLS handshake; it requests no client certificate.
  async::Task<error_code> accept_tls(std::shared_ptr<TlsContext> context);
  bool secure() const;
  // After start_tls failed: the fault of the certificate, or empty if the certificate is not the cause.
  std::string certificate_problem() const;

  // Reads at least one byte, or returns an error.
  async::Task<Transfer> read(std::span<char> into, async::Deadline deadline);
  // Writes all bytes; `idle` limits the time without progress. `bytes` must outlive the wait.
  async::Task<error_code> write(std::string_view bytes, std::chrono::milliseconds idle);
  // Waits until data or the end can be read; uses no buffer.
  async::Task<error_code> wait_readable();

  enum class Peer { silent, spoke, gone };
  // The state of the peer, without waiting.
  Peer peer() const;
  // The peer has closed the connection or its sending side, even if data are unread.
  bool hung_up() const;

  // Ends pending waits with an error and keeps the connection open.
  void cancel();
  void close();
  // Under TLS, sends close_notify; waits at most `limit`.
  async::Task<> say_goodbye(std::chrono::milliseconds limit);
  // Shuts down the sending side; reading stays possible.
  void end_writing();
  // Resets the connection.
  void reset();

  struct State;
  // Its streams, for a protocol that reads and writes them itself (connection_state.h).
  State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

// Sets close-on-exec: child processes inherit Asio's sockets otherwise, and one that outlives this process
// would keep the port or a client's connection.
void keep_from_children(int socket);

// Whether the error is the end of a connection, as TCP or TLS reports it.
bool is_end(const error_code& error);

}  // namespace kw::http
