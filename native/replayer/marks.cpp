#include "marks.h"

#include <cstddef>
#include <utility>

namespace kw::replayer {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t cache_line_bytes = 128;
// A longer pause between two looks means that the host's thread did not run, so the moment is not known.
constexpr auto longest_pause = std::chrono::microseconds(1);
// Between two questions whether the stream has ended, which take longer than a look.
constexpr auto question_interval = std::chrono::microseconds(300);

}  // namespace

struct Marks::Look {
  steady_clock::time_point before;  // the last one that did not find the word
  steady_clock::time_point found;
  bool at_once = true;  // the first one found it
};

std::optional<Marks::Look> Marks::watch_one(std::size_t index, CUstream stream,
                                            std::chrono::milliseconds limit) const {
  const auto began = steady_clock::now();
  auto asked = began;
  Look look{began, began};
  while (look.before - began <= limit) {
    const bool is_there = word(index).load(std::memory_order_acquire) == ticket_;
    look.found = steady_clock::now();
    if (is_there) return look;
    look.at_once = false;
    look.before = look.found;
    if (look.before - asked < question_interval) continue;
    if (driver_->cuStreamQuery(stream) != CUDA_ERROR_NOT_READY) break;
    asked = steady_clock::now();
  }
  return std::nullopt;
}

Outcome<Marks> Marks::make(const driver::Driver& driver) {
  Marks marks(driver);
  auto words = Pinned::make(driver, 2 * cache_line_bytes);
  if (!words) return std::unexpected(words.error());
  marks.words_ = std::move(*words);
  auto found =
      checked(driver, driver.cuMemHostGetDevicePointer(&marks.address_, marks.words_.bytes().data(), 0),
              "finding the marks' address");
  if (!found) return infrastructure(found.error().error);
  marks.first().store(0);
  marks.second().store(0);
  return marks;
}

std::atomic_ref<std::uint32_t> Marks::word(std::size_t index) const {
  return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(words_.bytes().data() + index * cache_line_bytes));
}

CUresult Marks::write(CUstream stream, std::size_t index) const {
  return driver_->cuStreamWriteValue32(stream, address_ + index * cache_line_bytes, ticket_,
                                       CU_STREAM_WRITE_VALUE_DEFAULT);
}

CUresult Marks::begin(CUstream stream) {
  ++ticket_;
  return write(stream, 0);
}

CUresult Marks::end(CUstream stream) {
  return write(stream, 1);
}

std::optional<double> Marks::watch(CUstream stream, std::chrono::milliseconds limit) const {
  const auto first_look = watch_one(0, stream, limit);
  const auto second_look = watch_one(1, stream, limit);
  if (!first_look || !second_look) return std::nullopt;
  if (first_look->at_once || first_look->found - first_look->before > longest_pause) return std::nullopt;
  return std::chrono::duration<double, std::milli>(second_look->found - first_look->before).count();
}

}  // namespace kw::replayer
