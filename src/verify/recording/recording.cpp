#include "verify/recording/recording.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"
#include "verify/recording/check.h"
#include "verify/recording/elf.h"
#include "verify/recording/limits.h"

namespace kw::recording {
namespace {

Result<const Recording*> verified(std::string_view bytes) {
  if (bytes.size() > max_file_bytes)
    return fail(fmt::format("{} bytes; {} is the most", bytes.size(), max_file_bytes));
  const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
  flatbuffers::Verifier verifier(begin, bytes.size(), max_depth, max_tables);
  // The identifier follows the first offset.
  constexpr std::size_t head =
      sizeof(flatbuffers::uoffset_t) + flatbuffers::FlatBufferBuilder::kFileIdentifierLength;
  if (bytes.size() < head || !RecordingBufferHasIdentifier(begin)) return fail("this is no recording");
  if (!VerifyRecordingBuffer(verifier)) return fail("its structure is broken");
  return GetRecording(begin);
}

Result<> check_words(const Recording& recording) {
  for (const auto* word : {recording.gpu(), recording.torch(), recording.triton()})
    if (text_of(word).size() > max_word_bytes) return fail("the name of the GPU or a version is too long");
  if (recording.compute_capability() > 9999)
    return fail(fmt::format("there is no compute capability {}", recording.compute_capability()));
  return {};
}

Result<> check_obstacles(const Recording& recording) {
  std::size_t count = size_of(recording.obstacles());
  if (count > max_obstacles) return fail(fmt::format("{} obstacles; {} is the most", count, max_obstacles));
  for (std::size_t i = 0; i < count; ++i) {
    const Obstacle& obstacle = *entry(recording.obstacles(), i);
    if (text_of(obstacle.what()).size() > max_text_bytes ||
        text_of(obstacle.detail()).size() > max_text_bytes)
      return fail(fmt::format("obstacle {}: its words are too long", i));
  }
  return {};
}

Result<> check_streams(const Recording& recording) {
  std::size_t count = size_of(recording.streams());
  if (count == 0) return fail("it has no stream, not even the caller's");
  if (count > max_streams) return fail(fmt::format("{} streams; {} is the most", count, max_streams));
  std::size_t legacy = 0;
  for (std::size_t i = 0; i < count; ++i) legacy += entry(recording.streams(), i)->legacy_default() ? 1U : 0U;
  if (legacy > 1) return fail("two of its streams are the legacy default stream");
  return {};
}

Result<> check_markers(const Recording& recording) {
  const std::size_t count = size_of(recording.markers());
  if (count > max_markers) return fail(fmt::format("{} markers; {} is the most", count, max_markers));
  for (std::size_t i = 0; i < count; ++i)
    if (entry(recording.markers(), i) > size_of(recording.operations()))
      return fail(fmt::format("marker {} lies behind the last operation", i));
  return {};
}

Result<> check_all(const Recording& recording, Checks checks) {
  if (recording.version() != version)
    return fail(
        fmt::format("it is of version {}; this program reads version {}", recording.version(), version));
  for (auto check : {check_words, check_obstacles, check_streams, check_markers})
    if (auto good = check(recording); !good) return good;
  auto memory = Memory::of(recording);
  if (!memory) return std::unexpected(memory.error());
  Budget budget;
  auto cubins = check_cubins(recording, checks, budget);
  if (!cubins) return std::unexpected(cubins.error());
  return check_operations(recording, {*memory, *cubins, size_of(recording.streams()), budget});
}

}  // namespace

Result<View> View::of(std::string_view bytes, Checks checks) {
  auto recording = verified(bytes);
  if (!recording) return std::unexpected(recording.error());
  if (auto good = check_all(**recording, checks); !good) return std::unexpected(good.error());
  return View(*recording);
}

namespace {

constexpr std::size_t named_obstacles = 3;
constexpr std::size_t obstacle_bytes = 300;  // of one

std::string in_words(const Obstacle& obstacle) {
  std::string what = to_plain_text(text_of(obstacle.what()).substr(0, obstacle_bytes));
  std::string detail = to_plain_text(text_of(obstacle.detail()).substr(0, obstacle_bytes));
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
