#include "training/event_lines.h"

#include <utility>

namespace kw::training {

void EventLines::feed(std::string_view bytes, const std::function<void(std::string_view)>& line) {
  while (!bytes.empty()) {
    std::size_t end = bytes.find('\n');
    std::string_view part = bytes.substr(0, end);
    if (open_.size() + part.size() > max_line_bytes) too_long_ = true;
    if (too_long_)
      open_.clear();
    else
      open_ += part;
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    end_line(line);
  }
}

void EventLines::end_line(const std::function<void(std::string_view)>& line) {
  if (std::exchange(too_long_, false))
    ++dropped_;
  else if (!open_.empty())
    line(open_);
  open_.clear();
}

std::string EventLines::take_rest() {
  if (std::exchange(too_long_, false)) ++dropped_;
  return std::exchange(open_, {});
}

}  // namespace kw::training
