#include "recording/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "recording/parts.h"

namespace kw::recording {
namespace {

constexpr std::size_t shown_bytes = 120;  // of a name

std::string described(const Dim& dim) {
  return fmt::format("{} x {} x {}", dim.x(), dim.y(), dim.z());
}

std::string described(const Launch& launch) {
  std::string line = fmt::format("launch {} of cubin {}, grid {}, block {}, {} bytes of parameters",
                                 readable(text_of(launch.name())), launch.cubin(), described(*launch.grid()),
                                 described(*launch.block()), size_of(launch.parameters()));
  if (launch.shared_bytes() > 0) line += fmt::format(", {} bytes of shared memory", launch.shared_bytes());
  if (size_of(launch.attributes()) > 0) line += ", attributes";
  for (std::size_t i = 0; i < size_of(launch.attributes()); ++i)
    line += fmt::format(" {}", entry(launch.attributes(), i)->id());
  if (launch.from_graph()) line += ", in a graph";
  return line;
}

std::string described(const Copy& copy) {
  std::string rows = copy.rows() == 1 ? "" : fmt::format("{} rows of ", copy.rows());
  return fmt::format("copy {}{} bytes from {:#x} to {:#x}", rows, copy.row_bytes(), copy.from(), copy.to());
}

std::string described(const Fill& fill) {
  std::string rows = fill.rows() == 1 ? "" : fmt::format("{} rows of ", fill.rows());
  return fmt::format("fill {}{} elements of {} bytes from {:#x} on with {:#x}", rows, fill.columns(),
                     fill.width(), fill.to(), fill.value());
}

std::string described(const HostWait& wait) {
  if (wait.scope() == HostWaits::device) return "the host waits for the device";
  if (wait.scope() == HostWaits::stream) return "the host waits for this stream";
  return fmt::format("the host waits for event {:#x}", wait.event());
}

std::string work_of(const Operation& operation) {
  switch (operation.work_type()) {
    case Work::Launch:
      return described(*operation.work_as_Launch());
    case Work::Copy:
      return described(*operation.work_as_Copy());
    case Work::Fill:
      return described(*operation.work_as_Fill());
    case Work::Upload:
      return fmt::format("upload {} bytes to {:#x}", size_of(operation.work_as_Upload()->bytes()),
                         operation.work_as_Upload()->to());
    case Work::Download:
      return fmt::format("download {} bytes from {:#x}", size_of(operation.work_as_Download()->bytes()),
                         operation.work_as_Download()->from());
    case Work::EventRecord:
      return fmt::format("record event {:#x}", operation.work_as_EventRecord()->event());
    case Work::EventWait:
      return fmt::format("wait for event {:#x}", operation.work_as_EventWait()->event());
    case Work::HostWait:
      return described(*operation.work_as_HostWait());
    default:
      return "?";
  }
}

}  // namespace

std::string in_units(std::uint64_t bytes) {
  constexpr std::array<const char*, 4> units = {"bytes", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  auto amount = static_cast<double>(bytes);
  for (; amount >= 1024 && unit + 1 < units.size(); ++unit) amount /= 1024;
  return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.1f} {}", amount, units[unit]);
}

std::string readable(std::string_view name) {
  std::string text = to_plain_text(name.substr(0, 2 * shown_bytes));
  std::replace(text.begin(), text.end(), '\n', ' ');
  std::string cut = shorten(text, shown_bytes);
  return cut.empty() ? "(nameless)" : cut;
}

std::string described(const Operation& operation) {
  return fmt::format("stream {}  {}", operation.stream(), work_of(operation));
}

}  // namespace kw::recording
