// Reads the body of an answer incrementally: server-sent events, or one JSON object from a server that does
// not stream. The first byte determines the form.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "loop/model_client/answer.h"
#include "loop/model_client/server_error.h"

namespace kw::llm {

// Parses server-sent events incrementally.
struct SseEvent {
  std::string name;  // empty: a plain message
  std::string data;  // its data lines, joined by newlines; unchanged bytes
};

class SseParser {
 public:
  using OnEvent = std::function<void(SseEvent event)>;

  SseParser(std::size_t max_event_bytes, OnEvent on_event)
      : max_event_bytes_(max_event_bytes), on_event_(std::move(on_event)) {}

  // False if an event exceeds the limit; then the rest is ignored.
  bool feed(std::string_view piece);

  // The end of the stream. Accepts a last event without its blank line, since some servers omit it.
  void finish();

 private:
  void end_line();
  void end_event();

  std::size_t max_event_bytes_;
  OnEvent on_event_;
  std::string line_;
  SseEvent event_;
  bool has_data_ = false;
  bool after_cr_ = false;  // the LF of a CRLF is not a line of its own
  bool first_line_ = true;
};

// Empty if the text is not JSON. Accepts bytes that are not UTF-8, since two chunks of a stream may split a
// character; a lone surrogate ("\ud83d") becomes U+FFFD.
std::optional<boost::json::value> parse_leniently(std::string_view text);

// Reads the body of an answer incrementally: an event stream, or one JSON object from a server that does not
// stream. The first byte determines the form.
enum class Flaw {
  malformed,  // violates the protocol
  too_large,  // exceeds the limit
  cut,        // the body ended before the answer
  error       // the server sent an error instead of (the rest of) the answer
};

struct Flawed {
  Flaw flaw = Flaw::malformed;
  std::string what;
  ServerError error;  // of Flaw::error
};

class AnswerReader {
 public:
  explicit AnswerReader(std::size_t max_content_bytes);
  AnswerReader(const AnswerReader&) = delete;  // the parser of events holds its address
  AnswerReader& operator=(const AnswerReader&) = delete;

  // False if the body is faulty; then the rest is ignored.
  bool take(std::string_view piece);

  // The answer, at the end of the body.
  std::expected<ChatAnswer, Flawed> finish();

  // Whether the model has ended its answer, even if the rest of the body is lost.
  bool complete() const { return !flawed_ && (done_ || parts_.finished()); }
  bool began() const { return parts_.began(); }
  ChatAnswer partial() const { return parts_.answer(); }

 private:
  enum class Form { unknown, events, whole };

  void settle_form();
  void take_event(const SseEvent& event);
  void take_object(std::string_view text, bool whole);
  void spoil(Flaw flaw, std::string what);

  std::size_t max_content_bytes_;
  Form form_ = Form::unknown;
  std::string head_;  // the body until its form is known; the complete body of Form::whole
  SseParser events_;
  AnswerParts parts_;
  std::size_t objects_ = 0;
  bool done_ = false;  // [DONE]
  std::optional<Flawed> flawed_;
};

}  // namespace kw::llm
