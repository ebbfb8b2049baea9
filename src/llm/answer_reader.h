// Reads the body of an answer as it comes: an event stream, or one JSON object where the server does not
// stream. Which of the two it is, its first byte tells.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "llm/answer.h"
#include "llm/server_error.h"
#include "llm/sse.h"

namespace kw::llm {

enum class Flaw {
  malformed,  // not what the protocol promises
  too_large,  // over the bound
  cut,        // ended before the answer did
  error       // an error of the server's instead of (the rest of) an answer
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

  // False: it is flawed, and the rest is of no use.
  bool take(std::string_view piece);

  // The answer, at the end of the body.
  std::expected<ChatAnswer, Flawed> finish();

  // The model has ended its answer, whatever becomes of the rest of the body.
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
  std::string head_;  // till the form is known; of a whole answer all of it
  SseParser events_;
  AnswerParts parts_;
  std::size_t objects_ = 0;
  bool done_ = false;  // [DONE]
  std::optional<Flawed> flawed_;
};

}  // namespace kw::llm
