// Messages read piece by piece from bytes as they come.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "http/client.h"
#include "http/message.h"

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

// One answer: space(), read into it, took(), until done() or a fault.
class ResponseParser {
 public:
  // `to_head`: the answer to HEAD, which has no body whatever its headers say. `on_body` may be null.
  ResponseParser(Limits limits, bool to_head, const OnBody* on_body);
  ~ResponseParser();

  // Where the next bytes go; valid until took().
  std::span<char> space();
  ParseFault took(std::size_t bytes);
  // The connection ended; `cleanly` is false where TLS was cut off, which then does not end a body.
  ParseFault ended(bool cleanly);

  bool done() const;
  bool answered() const;        // some byte has come
  bool ended_early() const;     // on_body said false
  bool reusable() const;        // done, and the connection can carry another request
  std::string problem() const;  // after a fault
  Response take();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Requests, one after another, from one connection.
class RequestParser {
 public:
  explicit RequestParser(Limits limits);
  ~RequestParser();

  std::span<char> space();
  ParseFault took(std::size_t bytes);

  bool idle() const;  // nothing of the next request has come
  bool has_head() const;
  bool done() const;
  bool expects_continue() const;  // the header has come, and the client waits for 100 before the body
  bool keep_alive() const;
  bool chunks() const;  // HTTP/1.1: the answer may come in chunks
  std::string problem() const;
  Request head() const;  // once it is there: without the body
  Request take();
  // After take(): on to the next request, of which bytes may have come already.
  ParseFault next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kw::http
