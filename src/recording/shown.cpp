#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "recording/describe.h"
#include "recording/elf.h"
#include "recording/parts.h"
#include "recording/plan.h"

namespace kw::recording {
namespace {

constexpr std::size_t shown_cubins = 50;
constexpr std::size_t shown_names = 20;  // of a cubin
constexpr std::size_t shown_operations = 1000;

using Spans = flatbuffers::Vector<const Span*>;

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

std::string region(const char* name, const Span* span) {
  if (span == nullptr || span->bytes() == 0) return fmt::format("{}: none", name);
  return fmt::format("{}: {} at {:#x}", name, in_units(span->bytes()), span->address());
}

std::string memory(const Recording& recording) {
  std::string text = region("heap", recording.heap());
  text += fmt::format(", {} committed\n", in_units(total(recording.committed())));
  text += region("arena", recording.arena()) + "\n";
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

// Names of kernels that are launched, each once.
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

std::string described(const Recording& recording, std::size_t index) {
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
  for (std::size_t i = 0; i < std::min(count, shown_cubins); ++i) text += described(recording, i);
  return text + more(count, shown_cubins, "  ");
}

std::string operations(const Recording& recording) {
  std::size_t count = size_of(recording.operations());
  std::string text = fmt::format("operations: {}\n", count);
  for (std::size_t i = 0; i < std::min(count, shown_operations); ++i)
    text += fmt::format("  {}  {}\n", i, described(*entry(recording.operations(), i)));
  return text + more(count, shown_operations, "  ");
}

std::string order(const Recording& recording) {
  Plan planned = plan(recording);
  std::string text = fmt::format("order: {} steps, ", planned.steps.size());
  text += planned.open ? "some of which may come in either order" : "one after another";
  if (planned.unjoined > 0) text += fmt::format("; {} that the caller never waits for", planned.unjoined);
  return text + "\n";
}

std::string replayable(const Recording& recording) {
  std::string why = why_not_replayable(recording);
  return why.empty() ? "replayable: yes\n" : fmt::format("replayable: no: {}\n", why);
}

}  // namespace

std::string shown(const Recording& recording) {
  std::string text;
  for (auto part : {header, memory, streams, cubins, operations, order, replayable}) text += part(recording);
  return text;
}

}  // namespace kw::recording
