#include "verify/recording/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/core/text.h"
#include "verify/recording/elf.h"
#include "verify/recording/plan.h"
#include "verify/recording/recording.h"

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

namespace {

constexpr std::size_t shown_cubins = 50;
constexpr std::size_t shown_names = 20;  // of a cubin
constexpr std::size_t shown_operations = 1000;

std::string more(std::size_t count, std::size_t limit, const char* indent) {
  return count <= limit ? "" : fmt::format("{}... {} more\n", indent, count - limit);
}

std::uint64_t total(const Spans* spans) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < size_of(spans); ++i) bytes += entry(spans, i)->bytes();
  return bytes;
}

std::string header(const Recording& recording) {
  std::string text = fmt::format("recording, version {}\n", recording.version());
  std::uint32_t capability = recording.compute_capability();
  text += fmt::format("gpu: {}, compute capability {}.{}, driver {}.{}\n", readable(text_of(recording.gpu())),
                      capability / 10, capability % 10, recording.driver_version() / 1000,
                      recording.driver_version() % 1000 / 10);
  text += fmt::format("torch {}, triton {}\n", readable(text_of(recording.torch())),
                      readable(text_of(recording.triton())));
  return text;
}

std::string shown_region(const char* name, const Span* span) {
  if (span == nullptr || span->bytes() == 0) return fmt::format("{}: none", name);
  return fmt::format("{}: {} at {:#x}", name, in_units(span->bytes()), span->address());
}

std::string memory(const Recording& recording) {
  std::string text = shown_region("heap", recording.heap());
  text += fmt::format(", {} committed\n", in_units(total(recording.committed())));
  text += shown_region("arena", recording.arena()) + "\n";
  text +=
      fmt::format("state: {} in {} blocks\n", in_units(recording.state_bytes()), size_of(recording.state()));
  text += fmt::format("scratch: {} in {} blocks\n", in_units(total(recording.scratch())),
                      size_of(recording.scratch()));
  return text;
}

std::string streams(const Recording& recording) {
  std::string text = fmt::format("streams: {}\n", recording.streams()->size());
  for (std::size_t i = 0; i < recording.streams()->size(); ++i) {
    const Stream& stream = *entry(recording.streams(), i);
    const char* kind = stream.legacy_default() ? "legacy default"
                       : stream.blocking()     ? "blocking"
                                               : "non-blocking";
    text +=
        fmt::format("  {}  {}, priority {}{}\n", i, kind, stream.priority(), i == 0 ? ", the caller's" : "");
  }
  return text;
}

// Distinct names of launched kernels.
std::string launched(const Recording& recording, std::size_t cubin) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < size_of(recording.operations()); ++i) {
    const Launch* launch = entry(recording.operations(), i)->work_as_Launch();
    if (launch != nullptr && launch->cubin() == cubin) names.insert(text_of(launch->name()));
  }
  std::string text;
  std::size_t count = 0;
  for (std::string_view name : names)
    if (count++ < shown_names) text += fmt::format("     kernel {}\n", readable(name));
  return text + more(names.size(), shown_names, "     ");
}

std::string shown_cubin(const Recording& recording, std::size_t index) {
  const Cubin& cubin = *entry(recording.cubins(), index);
  std::string text = fmt::format("  {}  {}, {}\n", index, readable(text_of(cubin.sha256())),
                                 in_units(size_of(cubin.image())));
  text += launched(recording, index);
  std::size_t globals = size_of(cubin.globals());
  for (std::size_t i = 0; i < std::min(globals, shown_names); ++i) {
    const Global& global = *entry(cubin.globals(), i);
    text += fmt::format("     global {}, {}\n", readable(text_of(global.name())),
                        in_units(size_of(global.bytes())));
  }
  return text + more(globals, shown_names, "     ");
}

std::string cubins(const Recording& recording) {
  std::size_t count = size_of(recording.cubins());
  std::string text = fmt::format("cubins: {}\n", count);
  for (std::size_t i = 0; i < std::min(count, shown_cubins); ++i) text += shown_cubin(recording, i);
  return text + more(count, shown_cubins, "  ");
}

std::string marker_before(const Recording& recording, std::size_t operation) {
  std::string text;
  for (std::size_t i = 0; i < size_of(recording.markers()); ++i)
    if (entry(recording.markers(), i) == operation) text += "  -- marker: the backward pass begins --\n";
  return text;
}

std::string operations(const Recording& recording) {
  std::size_t count = size_of(recording.operations());
  std::string text = fmt::format("operations: {}\n", count);
  for (std::size_t i = 0; i < std::min(count, shown_operations); ++i)
    text += marker_before(recording, i) +
            fmt::format("  {}  {}\n", i, described(*entry(recording.operations(), i)));
  text += marker_before(recording, count);
  return text + more(count, shown_operations, "  ");
}

std::string order(const Recording& recording) {
  Plan planned = plan(recording);
  std::string text = fmt::format("order: {} steps, ", planned.steps.size());
  text += planned.open ? "some of which may come in either order" : "one after another";
  if (planned.unjoined > 0) text += fmt::format("; {} that the caller never waits for", planned.unjoined);
  return text + "\n";
}

std::string passes(const Recording& recording) {
  if (size_of(recording.markers()) == 0) return "";
  const Split split = plan(recording).split;
  if (!split.why_not.empty()) return fmt::format("passes: not told apart: {}\n", split.why_not);
  return fmt::format("passes: {} steps forward, then the backward pass\n", split.at);
}

std::string replayable(const Recording& recording) {
  std::string why = why_not_replayable(recording);
  return why.empty() ? "replayable: yes\n" : fmt::format("replayable: no: {}\n", why);
}

}  // namespace

std::string shown(const Recording& recording) {
  std::string text;
  for (auto part : {header, memory, streams, cubins, operations, order, passes, replayable})
    text += part(recording);
  return text;
}

}  // namespace kw::recording
