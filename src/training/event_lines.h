// Bytes of a pipe, cut into lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace kw::training {

// A line that is longer than the limit is dropped, so that a writer without end takes no memory.
class EventLines {
 public:
  static constexpr std::size_t max_line_bytes = std::size_t{1} << 20;

  // Calls `line` for each line that is whole now; an empty one is passed over.
  void feed(std::string_view bytes, const std::function<void(std::string_view)>& line);
  // What stands behind the last line break.
  std::string take_rest();
  std::uint64_t dropped() const { return dropped_; }

 private:
  void end_line(const std::function<void(std::string_view)>& line);

  std::string open_;
  bool too_long_ = false;
  std::uint64_t dropped_ = 0;
};

}  // namespace kw::training
