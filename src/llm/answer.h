// An answer put together: from the chunks of a stream, or from one JSON object.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <string>

#include "base/result.h"
#include "llm/chat.h"

namespace kw::llm {

class AnswerParts {
 public:
  // One chunk of a stream; an error names what has a wrong type.
  Result<> add_chunk(const boost::json::object& chunk);
  // A whole answer.
  Result<> add_whole(const boost::json::object& answer);

  std::size_t bytes() const { return content_.size() + reasoning_.size() + refusal_.size(); }
  bool began() const { return bytes() > 0; }
  bool finished() const { return !finish_reason_.empty(); }

  // What has come, as UTF-8, with inline thoughts told from the content. Where the model declined in a field
  // of its own, these words are the content, and the finish reason is "content_filter".
  ChatAnswer answer() const;

 private:
  Result<> add_choices(const boost::json::object& object, std::string_view message_key, bool needed);
  Result<> add_message(const boost::json::object& message);
  void add_usage(const boost::json::object& object);

  std::string content_;  // bytes as they came: a character may be cut between two chunks
  std::string reasoning_;
  std::string refusal_;
  std::string finish_reason_;
  std::string model_;
  Usage usage_;
};

}  // namespace kw::llm
