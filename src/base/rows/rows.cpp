#include "base/rows/rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <string_view>

#include "base/core/text.h"
#include "base/rows/formats.h"

namespace kw::table {
namespace {

constexpr std::uint64_t longest_list = std::uint64_t{512} << 20;

std::string ending_of(const std::string& path) {
  return lower(std::filesystem::path(path).extension().string());
}

// Whether the first non-blank character opens a list.
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
  if (!write_all(fd, line))
    return fail(fmt::format("cannot lay out the rows of {}: {}", path, errno_text(errno)), "free some space");
  return {};
}

// Reads a list once, and writes its rows as lines to a temporary file.
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
    // An item that is no object becomes the line "null", so that rows keep their numbers.
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
  // The length of a row is stored in 32 bits.
  bounded.longest_row_bytes = std::min(options.longest_row_bytes, std::uint64_t{0xFFFFFFFF});
  std::string ending = ending_of(path);
  if (ending == ".csv") return open_csv(path, bounded);
  if (ending == ".jsonl" || ending == ".ndjson") return open_jsonl(path, bounded);
  if (ending == ".json") return open_json(path, bounded);
  if (ending == ".parquet") return open_parquet(path, bounded);
  return fail(fmt::format("{} ends with none of .csv, .jsonl, .json, .parquet", path),
              "the ending says how a file of rows is read");
}

namespace json = boost::json;
namespace {

constexpr std::array<std::string_view, 3> single_columns = {"text", "content", "code"};
constexpr std::size_t columns_shown = 20;

bool has(const std::vector<std::string>& found, std::string_view name) {
  return std::ranges::find(found, name) != found.end();
}

std::string listed(const std::vector<std::string>& found) {
  if (found.empty()) return "none";
  std::vector<std::string> names;
  for (const std::string& name : found)
    if (names.size() < columns_shown) names.push_back(to_plain_text(shorten(name, 60)));
  std::string text = fmt::format("{}", fmt::join(names, ", "));
  return found.size() > names.size() ? fmt::format("{} and {} more", text, found.size() - names.size())
                                     : text;
}

// Appends the text of a message: its content, or the text parts of its content.
Result<> append_content(const json::value& content, std::string& text) {
  if (const auto* string = content.if_string()) {
    text.append(string->data(), string->size());
    return {};
  }
  const auto* parts = content.if_array();
  if (!parts)
    return fail("a message's content is no text", "content is a string, or a list of parts of type text");
  for (const json::value& part : *parts) {
    const auto* object = part.if_object();
    const json::value* words = object ? object->if_contains("text") : nullptr;
    if (words && words->is_string()) text.append(words->get_string().data(), words->get_string().size());
  }
  return {};
}

}  // namespace

Result<Columns> choose_columns(const std::string& file, const std::vector<std::string>& found,
                               const ReadOptions& options) {
  if (options.single_text)
    for (std::string_view name : single_columns)
      if (has(found, name)) return Columns{"", std::string(name)};
  if (has(found, options.prompt) && has(found, options.completion))
    return Columns{options.prompt, options.completion};
  if (options.single_text)
    return fail(fmt::format("{} has none of the columns text, content, code; it has {}", file, listed(found)),
                "name the column of the text so, or give a file with prompt and completion");
  bool both = !has(found, options.prompt) && !has(found, options.completion);
  std::string missing = both ? fmt::format("columns {} and {}", options.prompt, options.completion)
                        : has(found, options.prompt) ? fmt::format("column {}", options.completion)
                                                     : fmt::format("column {}", options.prompt);
  return fail(fmt::format("{} has no {}; it has {}", file, missing, listed(found)),
              has(found, "messages") ? "export the rows without --messages"
                                     : "name its columns with --prompt-column and --completion-column");
}

Result<std::string> text_of(const json::value& value) {
  if (const auto* string = value.if_string()) return std::string(string->data(), string->size());
  const auto* messages = value.if_array();
  if (!messages) return fail("neither text nor a list of messages");
  std::string text;
  for (std::size_t i = 0; i < messages->size(); ++i) {
    const auto* object = (*messages)[i].if_object();
    const json::value* content = object ? object->if_contains("content") : nullptr;
    if (!content) return fail("a list, but not of messages", R"(a message is {"role": ..., "content": ...})");
    if (i > 0) text += '\n';
    // A message that only calls tools has no content.
    if (content->is_null()) continue;
    if (auto added = append_content(*content, text); !added) return std::unexpected(added.error());
  }
  return text;
}

}  // namespace kw::table
