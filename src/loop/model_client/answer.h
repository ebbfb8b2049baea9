// Assembles an answer from the chunks of a stream, or from one JSON object, and separates the model's
// reasoning from its content.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <string>

#include "base/core/result.h"
#include "loop/model_client/chat.h"

namespace kw::llm {

// Separates a model's reasoning from its answer.
struct Said {
  std::string content;
  std::string reasoning;
};

// Reads a message or a delta: content as text or as a list of parts; reasoning from `reasoning_content`,
// `reasoning` or `reasoning_details`, only the first that is not empty, since servers repeat it. Keeps the
// bytes. An error names the field of wrong type.
Result<Said> said_in(const boost::json::object& message);

// Moves inline <think>…</think> at the beginning of the content into the reasoning: see part_thought().
void split_think(Said& said, bool ended);

// Assembles an answer from the chunks of a stream, or from one JSON object.
class AnswerParts {
 public:
  // Adds one chunk of a stream; an error names the field of wrong type.
  Result<> add_chunk(const boost::json::object& chunk);
  // Adds a complete answer.
  Result<> add_whole(const boost::json::object& answer);

  std::size_t bytes() const { return content_.size() + reasoning_.size() + refusal_.size(); }
  bool began() const { return bytes() > 0; }
  bool finished() const { return !finish_reason_.empty(); }

  // The answer so far, as UTF-8, with inline reasoning separated from the content. If the model declined in
  // a separate field, that text is the content, and the finish reason is "content_filter".
  ChatAnswer answer() const;

 private:
  Result<> add_choices(const boost::json::object& object, std::string_view message_key, bool needed);
  Result<> add_message(const boost::json::object& message);
  void add_usage(const boost::json::object& object);

  std::string content_;  // unchanged bytes: two chunks may split a character
  std::string reasoning_;
  std::string refusal_;
  std::string finish_reason_;
  std::string model_;
  Usage usage_;
};

}  // namespace kw::llm
