#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "recording/elf.h"
#include "recording/parts.h"
#include "recording/recording.h"

namespace kw::recording {
namespace {

constexpr std::size_t named_obstacles = 3;
constexpr std::size_t shown_bytes = 300;  // of one

std::string in_words(const Obstacle& obstacle) {
  std::string what = to_plain_text(text_of(obstacle.what()).substr(0, shown_bytes));
  std::string detail = to_plain_text(text_of(obstacle.detail()).substr(0, shown_bytes));
  return detail.empty() ? what : fmt::format("{} ({})", what, detail);
}

bool is_step(const Operation& operation) {
  return operation.work_type() != Work::EventRecord && operation.work_type() != Work::EventWait &&
         operation.work_type() != Work::HostWait;
}

bool does_something(const Recording& recording) {
  for (std::size_t i = 0; i < size_of(recording.operations()); ++i)
    if (is_step(*entry(recording.operations(), i))) return true;
  return false;
}

}  // namespace

std::string why_not_replayable(const Recording& recording) {
  std::size_t count = size_of(recording.obstacles());
  if (count == 0) return does_something(recording) ? "" : "the call did no work on the device";
  std::string words;
  for (std::size_t i = 0; i < std::min(count, named_obstacles); ++i)
    words += (i == 0 ? "" : "; ") + in_words(*entry(recording.obstacles(), i));
  if (count > named_obstacles) words += fmt::format("; and {} more", count - named_obstacles);
  return words;
}

std::vector<Variable> variables(std::span<const std::uint8_t> image) {
  std::vector<Variable> found;
  auto elf = Elf::of(image);
  if (!elf) return found;
  for (const Elf::Object& object : elf->objects()) found.push_back({std::string(object.name), object.bytes});
  return found;
}

}  // namespace kw::recording
