#include "verify/judge/tool_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <optional>
#include <span>

#include "base/core/text.h"
#include "verify/recording/limits.h"

namespace kw::verify {
namespace {

constexpr std::string_view mark = "========= ";
constexpr std::size_t most_text = 200;  // of a name or sentence
constexpr std::size_t most_findings = 128;

std::string clipped(std::string_view text) {
  std::string plain = shorten(to_plain_text(trim(text)), most_text);
  std::ranges::replace(plain, '\n', ' ');
  return plain;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// The lines of one record, without the tool's mark: the first is not indented, those after it are.
using Record = std::vector<std::string_view>;

// Lines without the mark are no words of the tool's.
std::vector<Record> records_of(std::string_view text) {
  std::vector<Record> records;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!take(line, mark)) continue;
    if (records.empty() || !line.starts_with(' ')) records.emplace_back();
    records.back().push_back(line);
  }
  return records;
}

struct Place {
  std::string kernel;
  std::string file_line;
};

bool is_hex(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; });
}

// "probe.py:8" of "/a/folder/probe.py:8".
std::string file_line_of(std::string_view text) {
  text = trim(text);
  return clipped(text.substr(text.rfind('/') + 1));
}

// "at copy+0x250 in /a/probe.py:8", "at sum+0xe0"; of earlier versions, "at 0x250 in /a/probe.py:8:copy" and
// "at 0x250 in copy".
std::optional<Place> place_of(std::string_view line) {
  line = trim(line);
  if (!take(line, "at ")) return {};
  constexpr std::string_view offset = "+0x";
  constexpr std::string_view in = " in ";
  if (line.starts_with("0x")) {
    const std::size_t at = line.find(in);
    if (at == std::string_view::npos || !is_hex(line.substr(2, at - 2))) return {};
    line.remove_prefix(at + in.size());
    const std::size_t colon = line.rfind(':');
    if (colon == std::string_view::npos) return Place{clipped(line), {}};
    return Place{clipped(line.substr(colon + 1)), file_line_of(line.substr(0, colon))};
  }
  const std::size_t at = line.find(offset);
  if (at == std::string_view::npos) return {};
  const std::size_t file = line.find(in, at);
  return Place{clipped(line.substr(0, at)),
               file == std::string_view::npos ? std::string() : file_line_of(line.substr(file + in.size()))};
}

Place first_place(const Record& record) {
  for (std::string_view line : std::span(record).subspan(1))
    if (auto place = place_of(line)) return *place;
  return {};
}

// "__shared__ write of size 4 bytes" in words.
std::string access_in_words(std::string_view access, bool is_misaligned) {
  std::string_view memory = access.substr(0, access.find(' '));
  std::string_view rest = access.substr(std::min(memory.size() + 1, access.size()));
  if (!memory.starts_with("__") || !memory.ends_with("__") || memory.size() < 5) return clipped(access);
  memory = memory.substr(2, memory.size() - 4);
  std::string words = clipped(rest);
  if (const std::size_t at = words.find(" of size "); at != std::string::npos) words.replace(at, 9, " of ");
  if (is_misaligned) return fmt::format("misaligned {} of {} memory", words, memory);
  return fmt::format("{} beyond {} memory", words, memory);
}

bool is_of_the_call(std::uint64_t address) {
  using namespace recording;
  return (address >= heap_address && address - heap_address < max_heap_bytes) ||
         (address >= arena_address && address - arena_address < max_arena_bytes);
}

// The address of "Access to 0x7f2f04800fac is out of bounds".
std::optional<std::uint64_t> accessed_address(std::string_view line) {
  line = trim(line);
  if (!take(line, "Access to 0x")) return {};
  constexpr int hexadecimal = 16;
  std::uint64_t address = 0;
  if (std::from_chars(line.data(), line.data() + line.size(), address, hexadecimal).ec != std::errc())
    return {};
  return address;
}

// A name in the record may hold such a line too, so all of them must say it.
bool is_out_of_the_calls_bounds(const Record& record) {
  bool found = false;
  for (std::string_view line : record)
    if (const auto address = accessed_address(line)) {
      if (!is_of_the_call(*address)) return false;
      found = true;
    }
  return found;
}

// A record of memcheck: "Invalid __shared__ write of size 4 bytes", or an exception of the device, which
// names its place too. Errors of the host's calls have none.
std::optional<ToolFinding> of_memcheck(const Record& record) {
  std::string_view head = record.front();
  Place place = first_place(record);
  if (take(head, "Invalid ")) {
    const bool is_misaligned =
        std::ranges::any_of(record, [](std::string_view line) { return line.ends_with("is misaligned"); });
    const bool is_global = head.starts_with("__global__");
    return ToolFinding{access_in_words(head, is_misaligned), std::move(place.kernel),
                       std::move(place.file_line), is_global && is_out_of_the_calls_bounds(record)};
  }
  if (place.kernel.empty() || head.starts_with("Warning") || head.starts_with("Program hit")) return {};
  return ToolFinding{clipped(head), std::move(place.kernel), std::move(place.file_line)};
}

// "Write" of "Write access at sum+0xe0", in a line anywhere.
std::string accesses_in_words(const Record& record) {
  std::string words;
  for (std::string_view line : record)
    for (std::string_view each : {"Write", "Read", "Atomic"})
      if (line.contains(fmt::format("{} access at ", each)))
        words += fmt::format("{}a {}", words.empty() ? "" : " and ", lower(each));
  return words.empty() ? "accesses" : words;
}

// A record of racecheck: "Error: Race reported between Write access at sum+0xe0". Warnings are hazards that
// the tool holds for harmless.
std::optional<ToolFinding> of_racecheck(const Record& record) {
  std::string_view head = record.front();
  if (!take(head, "Error: ") || (!head.starts_with("Race reported") && !head.contains("hazard detected")))
    return {};
  const std::size_t at = head.find(" access at ");
  std::optional<Place> place;
  if (at != std::string_view::npos) place = place_of(head.substr(at + std::string_view(" access").size()));
  if (!place) place = first_place(record);
  return ToolFinding{fmt::format("race of {} in shared memory", accesses_in_words(record)),
                     std::move(place->kernel), std::move(place->file_line)};
}

// The first number before `word` in the text.
std::optional<std::uint64_t> count_before(std::string_view text, std::string_view word) {
  const std::size_t end = text.find(word);
  if (end == std::string_view::npos) return {};
  std::size_t begin = end;
  while (begin > 0 && is_digit(text[begin - 1])) --begin;
  std::uint64_t count = 0;
  if (std::from_chars(text.data() + begin, text.data() + end, count).ec != std::errc()) return {};
  return count;
}

struct Counted {
  std::uint64_t errors = 0;
  bool has_unprinted = false;
};

// What the tool's summaries count; none: it has not come to its end.
std::optional<Counted> counted_by(ReportOf tool, const std::vector<Record>& records) {
  std::optional<Counted> counted;
  for (const Record& each : records) {
    std::string_view line = each.front();
    if (!take(line, tool == ReportOf::memcheck ? "ERROR SUMMARY: " : "RACECHECK SUMMARY: ")) continue;
    const auto errors = count_before(line, " error");
    if (!errors) continue;
    if (!counted) counted.emplace();
    counted->errors = std::max(counted->errors, *errors);
    counted->has_unprinted = counted->has_unprinted || line.contains("not printed");
  }
  return counted;
}

// The tool's own sentence on why it gave up; empty: none.
std::string complaint(const std::vector<Record>& records) {
  for (const Record& each : records) {
    std::string_view line = each.front();
    if (line.starts_with("Internal Sanitizer Error") || line.contains("not supported") ||
        line.starts_with("Target application terminated before"))
      return clipped(line);
    if (take(line, "Error: ") && !line.starts_with("Race reported") && !line.contains("hazard detected"))
      return clipped(line);
  }
  return {};
}

// The last words of a tool that broke off, or of a program that is none.
std::string last_words(std::string_view text) {
  text = trim(text);
  const std::string words = clipped(text.substr(text.rfind('\n') + 1));
  return words.empty() ? words : ": " + words;
}

std::string why_incomplete(ReportOf tool, std::string_view text, const std::vector<Record>& records,
                           const ToolReport& report) {
  const auto counted = counted_by(tool, records);
  if (std::string said = complaint(records); !said.empty()) return "compute-sanitizer: " + said;
  if (!counted) return "compute-sanitizer has not come to its end" + last_words(text);
  if (counted->has_unprinted) return "compute-sanitizer found more errors than it prints";
  if (counted->errors > 0 && report.findings.empty())
    return fmt::format("compute-sanitizer counted {} errors and named none of a kernel", counted->errors);
  return {};
}

}  // namespace

ToolReport read_tool_report(ReportOf tool, std::string_view text) {
  const std::vector<Record> records = records_of(text);
  ToolReport report;
  for (const Record& each : records) {
    auto finding = tool == ReportOf::memcheck ? of_memcheck(each) : of_racecheck(each);
    if (!finding || report.findings.size() == most_findings ||
        std::ranges::find(report.findings, *finding) != report.findings.end())
      continue;
    report.findings.push_back(std::move(*finding));
  }
  report.why_not = why_incomplete(tool, text, records, report);
  return report;
}

}  // namespace kw::verify
