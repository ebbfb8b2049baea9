#include "base/http/server_session.h"

#include <fmt/format.h>

#include <array>
#include <boost/asio/this_coro.hpp>

#include "base/core/text.h"
#include "base/http/message.h"

namespace kw::http {

using namespace std::chrono_literals;
using async::Deadline;

// For servers that are no sockets: tests, and a handler behind another protocol.
async::Task<std::expected<WebSocket*, RequestError>> Responder::upgrade(const Request&) {
  co_return std::unexpected(RequestError{426, "upgrade_required", "this server has no WebSockets"});
}

namespace {

// The interval of polls for events without a notification.
constexpr auto kLook = 250ms;
constexpr std::size_t kHeaderBytes = std::size_t{64} << 10;
// How long the rest of a refused request is read: an immediate close could cost the client the response.
constexpr auto kLinger = 1s;

// The client's abilities, which determine the form of the response.
struct Manner {
  bool keep_alive = true;
  bool chunks = true;
  bool to_head = false;
  std::chrono::milliseconds write_timeout{0};
};

using Upgrade = std::function<async::Task<Session::Upgraded>(const Request& request, bool is_11)>;

class Answering : public Responder {
 public:
  Answering(Connection& connection, Manner manner, Upgrade upgrade)
      : connection_(connection),
        upgrade_(std::move(upgrade)),
        keep_(manner.keep_alive),
        chunks_(manner.chunks),
        to_head_(manner.to_head),
        idle_(manner.write_timeout) {}

  async::Task<> send(Response response) override {
    if (!may_begin()) co_return;
    set_length(response);
    std::string text = head_of(std::move(response.headers), response.status);
    if (!to_head_) text += response.body;
    finished_ = true;
    broken_ = bool(co_await connection_.write(text, idle_));
  }

  async::Task<> begin(Response head) override {
    if (!may_begin()) co_return;
    drop(head.headers, "Content-Length");
    // HTTP/1.0 has no chunks: there the end of the connection ends the body.
    if (chunks_)
      head.headers.push_back({"Transfer-Encoding", "chunked"});
    else
      keep_ = false;
    broken_ = bool(co_await connection_.write(head_of(std::move(head.headers), head.status), idle_));
  }

  async::Task<bool> write(std::string piece) override {
    if (connection_.hung_up()) broken_ = true;
    if (!began_ || finished_ || broken_) co_return false;
    if (piece.empty() || to_head_) co_return true;
    if (chunks_) piece = fmt::format("{:x}\r\n{}\r\n", piece.size(), piece);
    broken_ = bool(co_await connection_.write(piece, idle_));
    co_return !broken_;
  }

  async::Task<> end() override {
    if (!began_ || finished_ || broken_) co_return;
    finished_ = true;
    if (chunks_ && !to_head_) broken_ = bool(co_await connection_.write("0\r\n\r\n", idle_));
  }

  void reset() override {
    broken_ = true;
    connection_.reset();
  }

  async::Task<std::expected<WebSocket*, RequestError>> upgrade(const Request& request) override {
    if (began_ || broken_) co_return std::unexpected(RequestError{500, "internal", "the answer has begun"});
    auto upgraded = co_await upgrade_(request, chunks_);
    if (!upgraded) co_return std::unexpected(std::move(upgraded.error()));
    began_ = finished_ = true;  // the connection carries no more HTTP
    keep_ = false;
    socket_ = std::move(*upgraded);
    if (!socket_) co_return std::unexpected(RequestError{400, "invalid", "the handshake is not valid"});
    co_return socket_.get();
  }

  bool gone() const override { return socket_ ? socket_->gone() : broken_ || connection_.hung_up(); }

  // Polls after the first wait: unread bytes of a next request or of TLS keep the socket readable, and a wait
  // would not notice the end of the connection.
  async::Task<> until_gone() override {
    if (socket_) co_return co_await socket_->until_gone();
    auto cancellation = co_await boost::asio::this_coro::cancellation_state;
    auto goes_on = [&] {
      return cancellation.cancelled() == boost::asio::cancellation_type::none && !gone();
    };
    while (goes_on()) {
      if (co_await connection_.wait_readable()) co_return;
      if (goes_on()) co_await async::sleep_until(Deadline::in(kLook));
    }
  }

  bool began() const { return began_; }
  // The connection can carry another request.
  bool reusable() const { return finished_ && keep_ && !broken_; }

 private:
  bool may_begin() { return !broken_ && !std::exchange(began_, true); }

  static void drop(Headers& headers, std::string_view name) {
    std::erase_if(headers, [&](const Header& header) { return iequals(header.name, name); });
  }

  static void set_length(Response& response) {
    drop(response.headers, "Content-Length");
    bool without_body = response.status / 100 == 1 || response.status == 204 || response.status == 304;
    if (without_body)
      response.body.clear();
    else
      response.headers.push_back({"Content-Length", fmt::format("{}", response.body.size())});
  }

  std::string head_of(Headers headers, int status) {
    if (!check(headers)) {
      headers = {{"Content-Length", "0"}};
      status = 500;
      keep_ = false;
    }
    keep_ = keep_ && !iequals(header(headers, "Connection"), "close");
    drop(headers, "Connection");
    if (!keep_) headers.push_back({"Connection", "close"});
    return head_text(fmt::format("HTTP/1.1 {} {}", status, reason(status)), headers);
  }

  Connection& connection_;
  Upgrade upgrade_;
  std::shared_ptr<ServerSocket> socket_;
  bool keep_;
  bool chunks_;
  bool to_head_;
  std::chrono::milliseconds idle_;
  bool began_ = false;
  bool finished_ = false;
  bool broken_ = false;
};

int status_for(ParseFault fault) {
  switch (fault) {
    case ParseFault::header_too_large:
      return 431;
    case ParseFault::body_too_large:
      return 413;
    default:
      return 400;
  }
}

async::Task<> answer(const Handler& handler, const Request& request, Answering& responder) {
  bool threw = false;
  try {
    co_await handler(request, responder);
  } catch (...) {
    threw = true;
  }
  if (!responder.began())
    co_await responder.send({500, {{"Content-Type", "text/plain"}}, "the server failed to answer\n"});
  else if (threw)
    responder.reset();  // a partial response must not look complete
  else
    co_await responder.end();
}

}  // namespace

Session::Session(async::Loop& loop, boost::asio::ip::tcp::socket accepted, std::string peer,
                 const ServerOptions& options, ServerTotalsPtr totals)
    : loop_(loop),
      connection_(std::make_shared<Connection>(std::move(accepted))),
      peer_(std::move(peer)),
      options_(options),
      totals_(std::move(totals)),
      parser_({kHeaderBytes, options.max_body_bytes}) {}

bool Session::exceeds_memory() const {
  return options_.max_request_bytes > 0 && held_ > kHeaderBytes &&
         totals_->held_bytes > options_.max_request_bytes;
}

void Session::release() {
  totals_->held_bytes -= std::exchange(held_, 0);
}

std::chrono::milliseconds Session::time_for(Awaited what) const {
  if (what == Awaited::body) return options_.body_timeout;
  return what == Awaited::request && has_served_ ? options_.idle_timeout : options_.head_timeout;
}

// The time limit of a part starts with the part; received bytes do not extend it.
void Session::await(Awaited what) {
  if (what == awaited_) return;
  awaited_ = what;
  limit_ = what == Awaited::nothing ? Deadline::never() : Deadline::in(time_for(what));
}

void Session::end_overdue(async::SteadyClock::time_point now) {
  if (socket_) return socket_->end_overdue(now);
  if (now < limit_.at) return;
  limit_ = Deadline::never();
  is_overdue_ = true;
  connection_->cancel();
}

// False if the connection ends or fails.
async::Task<bool> Session::take_bytes(ParseFault& fault) {
  bool is_silent = parser_.idle();
  await(is_silent ? Awaited::request : parser_.has_head() ? Awaited::body : Awaited::header);
  // Waits for a plain connection without a buffer; under TLS, OpenSSL may already hold received bytes.
  if (is_silent && !connection_->secure() && co_await connection_->wait_readable()) co_return false;
  auto read = co_await connection_->read(parser_.space(), Deadline::never());
  if (!read.error) {
    held_ += read.bytes;
    totals_->held_bytes += read.bytes;
    fault = parser_.took(read.bytes);
  }
  if (read.error && is_overdue_ && !is_silent) co_await refuse(408);
  co_return !read.error;
}

// True when a complete request has been received.
async::Task<bool> Session::receive() {
  auto fault = parser_.next();
  bool told_to_go_on = false;
  bool let_in = !options_.turn_away;
  while (fault == ParseFault::none && !parser_.done()) {
    if (parser_.has_head() && !std::exchange(let_in, true))
      if (auto refusal = options_.turn_away(parser_.head())) {
        co_await refuse_with(std::move(*refusal));
        co_return false;
      }
    if (parser_.expects_continue() && !std::exchange(told_to_go_on, true) &&
        co_await connection_->write("HTTP/1.1 100 Continue\r\n\r\n", options_.write_timeout))
      co_return false;
    if (!co_await take_bytes(fault)) co_return false;
    if (fault == ParseFault::none && exceeds_memory()) {
      parser_.take();  // frees what came
      release();
      co_await refuse(503);
      co_return false;
    }
  }
  await(Awaited::nothing);
  if (fault != ParseFault::none) co_await refuse(status_for(fault));
  co_return fault == ParseFault::none;
}

async::Task<> Session::refuse(int status) {
  if (options_.refusal) return refuse_with(options_.refusal(status));
  return refuse_with(
      {status, {{"Content-Type", "text/plain"}}, fmt::format("{} {}\n", status, reason(status))});
}

async::Task<> Session::refuse_with(Response response) {
  response.headers.push_back({"Content-Length", fmt::format("{}", response.body.size())});
  response.headers.push_back({"Connection", "close"});
  std::string text =
      head_text(fmt::format("HTTP/1.1 {} {}", response.status, reason(response.status)), response.headers);
  if (co_await connection_->write(text + response.body, kLinger)) co_return;
  connection_->end_writing();
  std::array<char, 4096> unread;
  auto deadline = Deadline::in(kLinger);
  while (!(co_await connection_->read(unread, deadline)).error && !deadline.passed()) {
  }
}

async::Task<Session::Upgraded> Session::upgrade(const Request& request, bool is_11) {
  if (auto refusal = ServerSocket::refusal_of(request, is_11, options_, *totals_))
    co_return std::unexpected(std::move(*refusal));
  auto socket = std::make_shared<ServerSocket>(loop_, connection_, parser_.take_rest(), options_, totals_);
  if (!co_await socket->accept(request)) co_return nullptr;
  socket_ = std::move(socket);
  co_return socket_;
}

async::Task<> Session::turn_away(int status) {
  co_await refuse(status);
}

async::Task<> Session::serve(const Handler& handler, std::shared_ptr<TlsContext> tls) {
  await(Awaited::request);  // the limit includes the TLS handshake
  if (tls && co_await connection_->accept_tls(std::move(tls))) co_return;
  while (co_await receive()) {
    bool keep_alive = parser_.keep_alive();
    bool chunks = parser_.chunks();
    Request request = parser_.take();
    request.peer = peer_;
    Answering responder(*connection_, {keep_alive, chunks, request.method == "HEAD", options_.write_timeout},
                        [this](const Request& of, bool is_11) { return upgrade(of, is_11); });
    co_await answer(handler, request, responder);
    if (socket_) co_await socket_->finish();
    release();
    if (!responder.reusable()) break;
    has_served_ = true;
  }
  co_await connection_->say_goodbye(kLinger);
  connection_->close();
}

}  // namespace kw::http
