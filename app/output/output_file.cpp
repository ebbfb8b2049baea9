#include "output/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/core/display.h"
#include "base/core/files.h"
#include "base/core/json.h"
#include "base/core/text.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t head_bytes = std::size_t{1} << 16;
constexpr std::size_t shown_cells = 60;
constexpr std::size_t shown_fields = 4;

std::string head_of(const fs::path& file) {
  Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  std::string head(head_bytes, '\0');
  ssize_t n = fd ? ::read(fd.get(), head.data(), head.size()) : 0;
  head.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return head;
}

// Empty if the bytes begin with no known signature.
std::string_view binary_kind(std::string_view head) {
  using namespace std::string_view_literals;
  static constexpr std::array kinds = {
      std::pair{"SQLite format 3\0"sv, "an SQLite database"sv}, std::pair{"PAR1"sv, "a Parquet file"sv},
      std::pair{"\x1f\x8b"sv, "a gzip file"sv}, std::pair{"PK\x03\x04"sv, "a ZIP archive"sv},
      std::pair{"\x7f"
                "ELF"sv,
                "a program"sv}};
  for (const auto& [signature, kind] : kinds)
    if (head.starts_with(signature)) return kind;
  return head.contains('\0') ? "binary data"sv : ""sv;
}

std::string fields_of(const boost::json::object& object) {
  std::string fields;
  std::size_t count = 0;
  for (const auto& member : object) {
    if (count++ == shown_fields) return fields + ", …";
    fields += fmt::format("{}\"{}\"", count > 1 ? ", " : "", visible_line(member.key()));
  }
  return fields;
}

std::string text_kind(std::string_view head) {
  std::string_view text = trim(head);
  std::string_view line = text.substr(0, text.find('\n'));
  if (line == "[") {  // a list with one element a line
    std::string_view element = trim(text.substr(line.size()));
    line = element.substr(0, element.find('\n'));
    if (line.ends_with(',')) line.remove_suffix(1);
  }
  if (text.starts_with('{') || text.starts_with('[')) {
    auto value = parse_json(line);
    if (value && value->is_object() && !value->get_object().empty())
      return fmt::format("JSON with the fields {}", fitted(fields_of(value->get_object()), shown_cells));
    return "JSON";
  }
  return fmt::format("text that begins with \"{}\"", fitted(visible_line(trim(line)), shown_cells));
}

}  // namespace

std::string looks_like(const fs::path& file) {
  std::error_code ignored;
  if (fs::is_directory(file, ignored)) return "a folder";
  if (fs::exists(file, ignored) && !fs::is_regular_file(file, ignored)) return "a device or a pipe";
  std::string head = head_of(file);
  if (std::string_view kind = binary_kind(head); !kind.empty()) return std::string(kind);
  return trim(head).empty() ? "empty text" : text_kind(head);
}

std::unexpected<Error> not_ours(const fs::path& file, std::string_view wanted, std::string_view detail) {
  return fail(fmt::format("{} exists and is not {}{}: it looks like {}", file.string(), wanted, detail,
                          looks_like(file)),
              "name another file with --output, or move this one away");
}

Result<> check_ours(const fs::path& file, std::string_view wanted,
                    const std::function<bool(const fs::path&)>& is_ours) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return {};
  if (!fs::is_regular_file(file, ignored)) return not_ours(file, wanted);
  if (fs::file_size(file, ignored) == 0 || is_ours(file)) return {};
  return not_ours(file, wanted);
}

Result<> set_aside(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error) || fs::file_size(file, error) == 0) return {};
  auto aside = [&](int number) { return fs::path(fmt::format("{}.{}", file.string(), number)); };
  int number = 1;
  while (fs::exists(aside(number), error)) ++number;
  fs::rename(file, aside(number), error);
  if (error)
    return fail(
        fmt::format("cannot rename {} to {}: {}", file.string(), aside(number).string(), error.message()),
        "move the file yourself, or name another --output");
  fmt::print(stderr, "note: {} was renamed to {}\n", file.string(), aside(number).string());
  return {};
}

void hold_standard_streams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0)  // open() gives the lowest free descriptor: this one
      static_cast<void>(::open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY));
}

namespace {

bool stdout_is_told = false;  // its error was returned once

}  // namespace

Result<> flush_stdout() {
  errno = 0;
  bool failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  int error = errno;
  if (!failed || std::exchange(stdout_is_told, true)) return {};
  return fail(
      fmt::format("cannot write standard output: {}", error == 0 ? "a write failed" : errno_text(error)),
      error == ENOSPC ? "free some space, or write to another disk" : "");
}

int finished(int status) {
  auto flushed = flush_stdout();
  if (flushed) return status;
  fmt::print(stderr, "error: {}\n", flushed.error().what);
  if (!flushed.error().remedy.empty()) fmt::print(stderr, "  -> {}\n", flushed.error().remedy);
  return status == 0 ? 1 : status;
}

}  // namespace kw
