#include <fmt/format.h>

#include "recording/check.h"
#include "recording/limits.h"
#include "recording/parts.h"

namespace kw::recording {
namespace {

Result<> check_copy(const Copy& copy, const Memory& memory) {
  if (!memory.holds(copy.to(), reach(copy.row_bytes(), copy.rows(), copy.to_pitch())))
    return fail("the copy writes beyond heap and arena");
  if (!memory.holds(copy.from(), reach(copy.row_bytes(), copy.rows(), copy.from_pitch())))
    return fail("the copy reads beyond heap and arena");
  return {};
}

Result<> check_fill(const Fill& fill, const Memory& memory) {
  if (fill.width() != 1 && fill.width() != 2 && fill.width() != 4)
    return fail(fmt::format("the fill's elements have {} bytes", fill.width()));
  std::uint64_t row_bytes = 0;
  if (__builtin_mul_overflow(fill.columns(), std::uint64_t{fill.width()}, &row_bytes) ||
      !memory.holds(fill.to(), reach(row_bytes, fill.rows(), fill.pitch())))
    return fail("the fill reaches beyond heap and arena");
  return {};
}

Result<> check_transfer(const char* what, std::uint64_t address, std::size_t bytes,
                        const Surroundings& around) {
  if (!around.budget.take(bytes)) return fail(fmt::format("the {} is too large", what));
  if (!around.memory.holds(address, bytes))
    return fail(fmt::format("the {} reaches beyond heap and arena", what));
  return {};
}

Result<> check_work(const Operation& operation, const Surroundings& around) {
  if (operation.stream() >= around.streams)
    return fail(fmt::format("there is no stream {}", operation.stream()));
  if (operation.work() == nullptr) return fail("it has no work");
  switch (operation.work_type()) {
    case Work::Launch:
      return check_launch(*operation.work_as_Launch(), around);
    case Work::Copy:
      return check_copy(*operation.work_as_Copy(), around.memory);
    case Work::Fill:
      return check_fill(*operation.work_as_Fill(), around.memory);
    case Work::Upload: {
      const Upload& upload = *operation.work_as_Upload();
      return check_transfer("upload", upload.to(), size_of(upload.bytes()), around);
    }
    case Work::Download: {
      const Download& download = *operation.work_as_Download();
      return check_transfer("download", download.from(), size_of(download.bytes()), around);
    }
    case Work::EventRecord:
    case Work::EventWait:
      return {};
    case Work::HostWait:
      if (operation.work_as_HostWait()->scope() > HostWaits::MAX)
        return fail("the host waits for nothing known");
      return {};
    default:
      return fail("it is of an unknown kind");
  }
}

}  // namespace

Result<> check_operations(const Recording& recording, const Surroundings& around) {
  std::size_t count = size_of(recording.operations());
  if (count > max_operations)
    return fail(fmt::format("{} operations; {} is the most", count, max_operations));
  for (std::size_t i = 0; i < count; ++i)
    if (auto good = check_work(*entry(recording.operations(), i), around); !good)
      return fail(fmt::format("operation {}: {}", i, good.error().what));
  return {};
}

}  // namespace kw::recording
