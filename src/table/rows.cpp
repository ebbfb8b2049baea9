#include "table/rows.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <cerrno>

#include "base/ascii.h"
#include "table/csv_rows.h"
#include "table/jsonl_rows.h"
#include "table/parquet_rows.h"

namespace kw::table {
namespace {

constexpr std::uint64_t longest_list = std::uint64_t{512} << 20;

std::string ending_of(const std::string& path) {
  return lower(std::filesystem::path(path).extension().string());
}

// Whether the first character that is no blank opens a list.
Result<bool> is_list(const std::string& path, const TextFile& file) {
  char first[4096];
  ssize_t n = ::pread(file.fd.get(), first, sizeof first, static_cast<off_t>(file.begin));
  if (n < 0) return fail(fmt::format("cannot read {}", path));
  std::string_view text(first, static_cast<std::size_t>(n));
  std::size_t at = text.find_first_not_of(" \t\r\n");
  return at != std::string_view::npos && text[at] == '[';
}

Result<> write_line(int fd, std::string line, const std::string& path) {
  line += '\n';
  for (std::string_view left = line; !left.empty();) {
    ssize_t n = ::write(fd, left.data(), left.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(fmt::format("cannot lay out the rows of {}", path), "free some space");
    left.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

// A list is taken apart once, and its rows are laid out as lines.
Result<std::unique_ptr<TextRows>> open_list(const std::string& path, std::uint64_t size,
                                            const ReadOptions& options) {
  if (size > longest_list)
    return fail(fmt::format("{} is a JSON list of more than {} MiB", path, longest_list >> 20),
                "write it as JSON lines");
  auto list = read_json_list(path);
  if (!list) return std::unexpected(list.error());
  auto lines = nameless_file(options.spill);
  if (!lines) return std::unexpected(lines.error());
  while (true) {
    auto row = (*list)->next();
    if (!row) return std::unexpected(row.error());
    if (!*row) break;
    // What is no object stays a line that is none, so that rows keep their numbers.
    const auto* good = std::get_if<Row>(&**row);
    auto written = write_line(lines->get(), good ? boost::json::serialize(good->fields) : "null", path);
    if (!written) return std::unexpected(written.error());
  }
  ::lseek(lines->get(), 0, SEEK_SET);
  return jsonl_rows(path, TextFile{std::move(*lines)}, options);
}

Result<std::unique_ptr<TextRows>> open_json(const std::string& path, const ReadOptions& options) {
  auto file = open_text(path);
  if (!file) return std::unexpected(file.error());
  auto list = is_list(path, *file);
  if (!list) return std::unexpected(list.error());
  if (*list) return open_list(path, file->size, options);
  return jsonl_rows(path, std::move(*file), options);
}

}  // namespace

Result<std::unique_ptr<TextRows>> open_rows(const std::string& path, const ReadOptions& options) {
  ReadOptions bounded = options;
  // A row's length is kept in 32 bits.
  bounded.longest_row_bytes = std::min(options.longest_row_bytes, std::uint64_t{0xFFFFFFFF});
  std::string ending = ending_of(path);
  if (ending == ".csv") return open_csv(path, bounded);
  if (ending == ".jsonl" || ending == ".ndjson") return open_jsonl(path, bounded);
  if (ending == ".json") return open_json(path, bounded);
  if (ending == ".parquet") return open_parquet(path, bounded);
  return fail(fmt::format("{} ends with none of .csv, .jsonl, .json, .parquet", path),
              "the ending says how a file of rows is read");
}

}  // namespace kw::table
