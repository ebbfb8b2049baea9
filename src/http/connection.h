// One TCP connection, plain or under TLS, with a limit on each wait.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "async/loop.h"
#include "http/tls.h"

namespace kw::http {

using boost::system::error_code;

struct Transfer {
  std::size_t bytes = 0;
  error_code error;
};

// A wait that took too long ends with asio's timed_out, and the connection is closed then.
class Connection {
 public:
  explicit Connection(async::Loop& loop);
  explicit Connection(boost::asio::ip::tcp::socket accepted);
  ~Connection();

  async::Task<error_code> connect(boost::asio::ip::tcp::endpoint to, async::Deadline deadline);

  // The handshake; the certificate must be trusted and made out to `host`.
  async::Task<error_code> start_tls(std::shared_ptr<TlsContext> context, std::string host,
                                    async::Deadline deadline);
  // The same from the server's side, where nothing is asked of the client.
  async::Task<error_code> accept_tls(std::shared_ptr<TlsContext> context);
  bool secure() const;
  // After start_tls failed: what is wrong with the certificate, or empty where it is not that.
  std::string certificate_problem() const;

  // At least one byte, or an error.
  async::Task<Transfer> read(std::span<char> into, async::Deadline deadline);
  // All of it; `idle` limits the time without any progress. `bytes` must outlive the wait.
  async::Task<error_code> write(std::string_view bytes, std::chrono::milliseconds idle);
  // Until there is something to read, the end included; takes no buffer.
  async::Task<error_code> wait_readable();

  enum class Peer { silent, spoke, gone };
  // What the other side has done meanwhile, without waiting.
  Peer peer() const;
  // The other side is gone or sends no more, whatever of it lies unread.
  bool hung_up() const;

  // Ends what waits now, with an error; the connection stays.
  void cancel();
  void close();
  // Under TLS, tells the other side that what it has is all; waits no longer than that.
  async::Task<> say_goodbye(std::chrono::milliseconds limit);
  // Says that nothing more is to come, and still reads.
  void end_writing();
  // Cuts the connection with a reset.
  void reset();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Asio's sockets are handed on to every process that is started: one that outlives this one would keep the
// port, or a client waiting.
void keep_from_children(int socket);

// The connection's end as TCP says it, or TLS does.
bool is_end(const error_code& error);

}  // namespace kw::http
