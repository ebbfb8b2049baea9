#include "llm/sse.h"

#include <utility>

namespace kw::llm {

bool SseParser::feed(std::string_view piece) {
  while (!piece.empty()) {
    if (std::exchange(after_cr_, false) && piece.front() == '\n') {
      piece.remove_prefix(1);
      continue;
    }
    std::size_t end = piece.find_first_of("\r\n");
    line_ += piece.substr(0, end);
    if (line_.size() + event_.data.size() > max_event_bytes_) return false;
    if (end == std::string_view::npos) return true;
    after_cr_ = piece[end] == '\r';
    piece.remove_prefix(end + 1);
    end_line();
  }
  return true;
}

void SseParser::finish() {
  if (!line_.empty()) end_line();
  end_event();
}

void SseParser::end_line() {
  std::string line = std::exchange(line_, {});
  std::string_view text = line;
  if (std::exchange(first_line_, false) && text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (text.empty()) return end_event();
  std::size_t colon = text.find(':');
  std::string_view field = text.substr(0, colon);  // empty: a comment
  std::string_view value = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") {
    event_.name = value;
  } else if (field == "data") {
    if (std::exchange(has_data_, true)) event_.data += '\n';
    event_.data += value;
  }
}

void SseParser::end_event() {
  SseEvent event = std::exchange(event_, {});
  if (std::exchange(has_data_, false)) on_event_(std::move(event));
}

}  // namespace kw::llm
