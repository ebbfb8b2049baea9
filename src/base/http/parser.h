// Parses messages incrementally.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/http/client.h"
#include "base/http/message.h"

namespace kw::http {

struct Limits {
  std::size_t header_bytes = std::size_t{64} << 10;
  std::size_t body_bytes = std::size_t{64} << 20;
};

enum class ParseFault {
  none,
  malformed,
  header_too_large,
  body_too_large,
  ended  // the connection, in mid-message
};

// Parses one response: call space(), read into it, call took(), until done() or a fault.
class ResponseParser {
 public:
  // `to_head`: the response to HEAD, which has no body despite its headers. `on_body` may be null.
  ResponseParser(Limits limits, bool to_head, const OnBody* on_body);
  ~ResponseParser();

  // The buffer for the next bytes; valid until took().
  std::span<char> space();
  ParseFault took(std::size_t bytes);
  // The connection ended. `cleanly` is false after a TLS truncation, which does not end a body.
  ParseFault ended(bool cleanly);

  bool done() const;
  bool answered() const;        // the first byte has been received
  bool ended_early() const;     // on_body returned false
  bool reusable() const;        // done, and the connection can carry another request
  std::string problem() const;  // after a fault
  Response take();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Parses consecutive requests of one connection.
class RequestParser {
 public:
  explicit RequestParser(Limits limits);
  ~RequestParser();

  std::span<char> space();
  ParseFault took(std::size_t bytes);

  bool idle() const;  // no byte of the next request has been received
  bool has_head() const;
  bool done() const;
  bool expects_continue() const;  // after the header: the client waits for 100 before the body
  bool keep_alive() const;
  bool chunks() const;  // HTTP/1.1: the response may be chunked
  std::string problem() const;
  Request head() const;  // once has_head(): without the body
  Request take();
  // After take(): the bytes behind the request, for another protocol on the connection.
  std::string take_rest();
  // After take(): begins the next request, whose first bytes may have arrived.
  ParseFault next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kw::http
