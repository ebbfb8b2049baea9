#include "table/jsonl_rows.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parser.hpp>

namespace kw::table {
namespace json = boost::json;
namespace {

constexpr std::size_t scratch_bytes = std::size_t{1} << 16;
constexpr std::size_t deepest = 128;

Error not_an_object(std::string_view text, const boost::system::error_code& error, std::size_t at) {
  if (!is_text(text)) return {"not UTF-8", "convert the file to UTF-8"};
  if (error) return {fmt::format("not JSON: {} at byte {}", error.message(), at), "one JSON object a line"};
  return {"not a JSON object", "one JSON object a line"};
}

// The line's object; it lives in `memory`.
Result<json::object> object_of(std::string_view text, json::storage_ptr memory) {
  unsigned char temporary[4096];
  json::parse_options options;
  options.max_depth = deepest;
  json::parser parser(json::storage_ptr(), options, temporary);
  parser.reset(std::move(memory));
  boost::system::error_code error;
  std::size_t read = parser.write(text.data(), text.size(), error);
  if (error) return std::unexpected(not_an_object(text, error, read));
  json::value value = parser.release();
  if (!value.is_object()) return std::unexpected(not_an_object(text, error, read));
  return std::move(value.get_object());
}

Result<std::string> column(const json::object& object, const std::string& name) {
  const json::value* value = object.if_contains(name);
  if (!value) return fail(fmt::format("no column {}", name), "every row needs it");
  auto text = text_of(*value);
  if (!text) return fail(fmt::format("column {}: {}", name, text.error().what), text.error().remedy);
  return text;
}

}  // namespace

JsonlRows::JsonlRows(std::string name, Fd file, RecordSource source)
    : IndexedRows(std::move(name), std::move(file), source.max_bytes) {
  read_from(std::make_unique<RecordReader>(std::move(source), std::make_unique<LineCutter>()));
}

Result<TextRow> JsonlRows::parse(std::string_view text, Scratch& scratch) const {
  if (!scratch.memory) scratch.memory = std::make_unique_for_overwrite<unsigned char[]>(scratch_bytes);
  json::monotonic_resource memory(scratch.memory.get(), scratch_bytes);
  auto object = object_of(text, &memory);
  if (!object) return std::unexpected(object.error());
  TextRow row;
  if (!columns_.prompt.empty()) {
    auto prompt = column(*object, columns_.prompt);
    if (!prompt) return std::unexpected(prompt.error());
    row.prompt = std::move(*prompt);
  }
  auto completion = column(*object, columns_.completion);
  if (!completion) return std::unexpected(completion.error());
  row.completion = std::move(*completion);
  for (const auto& [key, value] : *object)
    if (key != columns_.prompt && key != columns_.completion) row.rest.emplace(key, value);
  return row;
}

namespace {

// The columns of the first object. Lines before it that are none are bad rows, which next() gives.
Result<std::vector<std::string>> first_columns(const std::string& name, const TextFile& file,
                                               std::uint64_t longest) {
  RecordReader reader({.fd = file.fd.get(), .name = name, .max_bytes = longest, .begin = file.begin},
                      std::make_unique<LineCutter>());
  while (true) {
    auto record = reader.next();
    if (!record) return std::unexpected(record.error());
    if (!*record) return std::vector<std::string>{};
    auto object = object_of((*record)->text, {});
    if (!object) continue;
    std::vector<std::string> found;
    for (const auto& member : *object) found.emplace_back(member.key());
    return found;
  }
}

}  // namespace

Result<std::unique_ptr<TextRows>> jsonl_rows(const std::string& name, TextFile file,
                                             const ReadOptions& options) {
  auto found = first_columns(name, file, options.longest_row_bytes);
  if (!found) return std::unexpected(found.error());
  Columns columns{options.prompt, options.completion};
  if (!found->empty()) {
    auto chosen = choose_columns(name, *found, options);
    if (!chosen) return std::unexpected(chosen.error());
    columns = std::move(*chosen);
  }
  ::lseek(file.fd.get(), static_cast<off_t>(file.begin), SEEK_SET);
  RecordSource source{
      .fd = file.fd.get(), .name = name, .max_bytes = options.longest_row_bytes, .begin = file.begin};
  auto rows = std::make_unique<JsonlRows>(name, std::move(file.fd), std::move(source));
  rows->settle(std::move(*found), std::move(columns));
  return rows;
}

Result<std::unique_ptr<TextRows>> open_jsonl(const std::string& path, const ReadOptions& options) {
  auto file = open_text(path);
  if (!file) return std::unexpected(file.error());
  return jsonl_rows(path, std::move(*file), options);
}

}  // namespace kw::table
