// Server-sent events, out of pieces cut anywhere.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace kw::llm {

struct SseEvent {
  std::string name;  // empty: a plain message
  std::string data;  // its data lines, joined by newlines; bytes as they came
};

class SseParser {
 public:
  using OnEvent = std::function<void(SseEvent event)>;

  SseParser(std::size_t max_event_bytes, OnEvent on_event)
      : max_event_bytes_(max_event_bytes), on_event_(std::move(on_event)) {}

  // False: an event is over the bound; nothing more is read then.
  bool feed(std::string_view piece);

  // The end of the stream. An event without its blank line counts, since some servers end so.
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

}  // namespace kw::llm
