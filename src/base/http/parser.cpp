#include "base/http/parser.h"

#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <optional>

#include "base/core/text.h"

namespace kw::http {

namespace beast = boost::beast;

namespace {

constexpr std::size_t kSmallPiece = 4096;
constexpr std::size_t kLargePiece = 16384;

struct Sink {
  const OnBody* on_body = nullptr;
  std::string text;
  bool ended = false;
};

int status_of(const beast::http::header<false>& head) {
  return static_cast<int>(head.result_int());
}

// A Beast body: passes pieces of 2xx responses to a function, and collects all other bodies.
struct SinkBody {
  using value_type = Sink;

  class reader {
   public:
    template <bool isRequest, class Fields>
    reader(beast::http::header<isRequest, Fields>& head, Sink& sink) : sink_(sink) {
      if constexpr (!isRequest) answer_ = &head;
    }

    // The status is known from here on.
    void init(const boost::optional<std::uint64_t>&, beast::error_code& error) {
      error = {};
      passed_on_ = sink_.on_body != nullptr && answer_ != nullptr && status_of(*answer_) / 100 == 2;
    }

    template <class Buffers>
    std::size_t put(const Buffers& buffers, beast::error_code& error) {
      error = {};
      std::size_t bytes = 0;
      for (auto piece : beast::buffers_range(buffers)) {
        give(std::string_view(static_cast<const char*>(piece.data()), piece.size()));
        bytes += piece.size();
      }
      return bytes;
    }

    void finish(beast::error_code& error) { error = {}; }

   private:
    void give(std::string_view piece) {
      if (!passed_on_)
        sink_.text.append(piece);
      else if (!sink_.ended && !piece.empty())
        sink_.ended = !(*sink_.on_body)(piece);
    }

    Sink& sink_;
    const beast::http::header<false>* answer_ = nullptr;
    bool passed_on_ = false;
  };
};

ParseFault fault_of(beast::error_code error) {
  if (error == beast::http::error::header_limit) return ParseFault::header_too_large;
  if (error == beast::http::error::body_limit) return ParseFault::body_too_large;
  if (error == beast::http::error::partial_message || error == beast::http::error::end_of_stream)
    return ParseFault::ended;
  return ParseFault::malformed;
}

Headers headers_of(const beast::http::fields& fields) {
  Headers headers;
  for (const auto& field : fields)
    headers.push_back({std::string(field.name_string()), std::string(field.value())});
  return headers;
}

// The common part of both parsers.
template <bool isRequest>
struct Reading {
  explicit Reading(Limits given) : limits(given) {
    // The buffer also holds the longest line of the chunked encoding, which is no longer than a header.
    bytes.max_size(limits.header_bytes + 2 * kLargePiece);
  }

  void restart(const OnBody* on_body) {
    parser.emplace();
    parser->header_limit(static_cast<std::uint32_t>(limits.header_bytes));
    parser->body_limit(limits.body_bytes);
    parser->eager(true);
    parser->get().body().on_body = on_body;
  }

  std::span<char> space() {
    auto free = bytes.prepare(std::min(piece, bytes.max_size() - bytes.size()));
    return {static_cast<char*>(free.data()), free.size()};
  }

  void commit(std::size_t count) {
    if (count == piece) piece = kLargePiece;
    bytes.commit(count);
  }

  // Parses the received bytes. Skips interim responses (1xx).
  ParseFault eat() {
    while (bytes.size() > 0 && !parser->is_done()) {
      beast::error_code error;
      bytes.consume(parser->put(bytes.data(), error));
      if (error == beast::http::error::need_more) {
        if (bytes.size() < bytes.max_size()) return ParseFault::none;
        problem = "a line without an end";
        return ParseFault::malformed;
      }
      if (error) {
        problem = error.message();
        return fault_of(error);
      }
      if constexpr (!isRequest) skip_interim();
    }
    return ParseFault::none;
  }

  void skip_interim() {
    int status = status_of(parser->get());
    if (parser->is_done() && status >= 100 && status < 200 && status != 101) {
      const OnBody* on_body = parser->get().body().on_body;
      bool skipped = to_head;
      restart(on_body);
      parser->skip(skipped);
    }
  }

  Limits limits;
  beast::flat_buffer bytes;
  std::optional<beast::http::parser<isRequest, SinkBody>> parser;
  std::size_t piece = kSmallPiece;
  std::string problem;
  bool to_head = false;
};

}  // namespace

struct ResponseParser::State : Reading<false> {
  using Reading::Reading;
  bool answered = false;
  bool known = false;  // the first bytes are those of an HTTP response
};

ResponseParser::ResponseParser(Limits limits, bool to_head, const OnBody* on_body)
    : state_(std::make_unique<State>(limits)) {
  state_->to_head = to_head;
  state_->restart(on_body);
  state_->parser->skip(to_head);
}

ResponseParser::~ResponseParser() = default;

std::span<char> ResponseParser::space() {
  return state_->space();
}

ParseFault ResponseParser::took(std::size_t bytes) {
  state_->commit(bytes);
  state_->answered = state_->answered || bytes > 0;
  // Checked at once: a peer that does not speak HTTP may never send the end of line that the parser waits
  // for.
  if (!state_->known) {
    std::string_view first(static_cast<const char*>(state_->bytes.data().data()), state_->bytes.size());
    std::string_view wanted = "HTTP/1.";
    if (first.substr(0, wanted.size()) != wanted.substr(0, first.size())) {
      state_->problem = "it does not begin with HTTP/1";
      return ParseFault::malformed;
    }
    state_->known = first.size() >= wanted.size();
  }
  return state_->eat();
}

ParseFault ResponseParser::ended(bool cleanly) {
  beast::error_code error;
  if (!cleanly && state_->parser->is_header_done()) return ParseFault::ended;
  state_->parser->put_eof(error);
  return error ? fault_of(error) : ParseFault::none;
}

bool ResponseParser::done() const {
  return state_->parser->is_done();
}
bool ResponseParser::answered() const {
  return state_->answered;
}
bool ResponseParser::ended_early() const {
  return state_->parser->get().body().ended;
}
bool ResponseParser::reusable() const {
  return done() && state_->parser->keep_alive() && state_->bytes.size() == 0;
}
std::string ResponseParser::problem() const {
  return state_->problem;
}

Response ResponseParser::take() {
  auto message = state_->parser->release();
  return {status_of(message), headers_of(message), std::move(message.body().text)};
}

struct RequestParser::State : Reading<true> {
  using Reading::Reading;
};

RequestParser::RequestParser(Limits limits) : state_(std::make_unique<State>(limits)) {
  state_->restart(nullptr);
}

RequestParser::~RequestParser() = default;

std::span<char> RequestParser::space() {
  return state_->space();
}

ParseFault RequestParser::took(std::size_t bytes) {
  state_->commit(bytes);
  return state_->eat();
}

bool RequestParser::idle() const {
  return !state_->parser->got_some() && state_->bytes.size() == 0;
}
bool RequestParser::has_head() const {
  return state_->parser->is_header_done();
}
bool RequestParser::done() const {
  return state_->parser->is_done();
}
bool RequestParser::expects_continue() const {
  const auto& parser = *state_->parser;
  return parser.is_header_done() && !parser.is_done() &&
         iequals(std::string_view(parser.get()[beast::http::field::expect]), "100-continue");
}
bool RequestParser::keep_alive() const {
  return state_->parser->keep_alive();
}
bool RequestParser::chunks() const {
  return state_->parser->get().version() >= 11;
}
std::string RequestParser::problem() const {
  return state_->problem;
}

Request RequestParser::head() const {
  const auto& message = state_->parser->get();
  return {std::string(message.method_string()), std::string(message.target()), headers_of(message), {}};
}

Request RequestParser::take() {
  auto message = state_->parser->release();
  return {std::string(message.method_string()),
          std::string(message.target()),
          headers_of(message),
          std::move(message.body().text),
          {}};
}

std::string RequestParser::take_rest() {
  auto left = state_->bytes.data();
  std::string rest(static_cast<const char*>(left.data()), left.size());
  state_->bytes.consume(rest.size());
  return rest;
}

ParseFault RequestParser::next() {
  state_->restart(nullptr);
  // An idle connection keeps no buffer.
  if (state_->bytes.size() == 0) state_->bytes.shrink_to_fit();
  state_->piece = kSmallPiece;
  return state_->eat();
}

}  // namespace kw::http
