#include "base/rows/formats.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parser.hpp>
#include <cstdint>
#include <fstream>
#include <utility>

#include "base/core/json.h"
#include "base/process/child.h"
#include "base/rows/rows.h"
#include "base/rows/rows_indexed.h"

namespace kw::table {

// Linear in all cases: searches the next newline only after it has passed the one found last.
std::size_t CsvCutter::end_of_record(std::string_view piece) {
  std::size_t at = 0;
  std::size_t newline = 0;
  bool known = false;
  while (at < piece.size()) {
    switch (state_) {
      case State::field:
        state_ = piece[at] == '"' ? State::quoted : State::plain;
        if (state_ == State::quoted) ++at;
        break;
      case State::plain: {
        if (!known || newline < at) {
          newline = std::min(piece.find('\n', at), piece.size());
          known = true;
        }
        std::size_t comma = piece.substr(0, newline).find(',', at);
        if (comma != std::string_view::npos) {
          at = comma + 1;
          state_ = State::field;
        } else if (newline < piece.size()) {
          return newline + 1;
        } else {
          return std::string_view::npos;
        }
        break;
      }
      case State::quoted:
        at = piece.find('"', at);
        if (at == std::string_view::npos) return at;
        ++at;
        state_ = State::quote;
        break;
      case State::quote:
        state_ = piece[at] == '"' ? State::quoted : State::plain;
        if (state_ == State::quoted) ++at;
        break;
    }
  }
  return std::string_view::npos;
}

namespace {

// Appends the quoted part of a field, from after its opening quote; returns the offset after the closing one.
Result<std::size_t> quoted_part(std::string_view record, std::size_t at, std::string& field) {
  while (true) {
    std::size_t quote = record.find('"', at);
    if (quote == std::string_view::npos)
      return fail("a quote is opened and never closed", "double each quote within a quoted field");
    field.append(record, at, quote - at);
    if (quote + 1 == record.size() || record[quote + 1] != '"') return quote + 1;
    field += '"';
    at = quote + 2;
  }
}

}  // namespace

Result<> csv_fields(std::string_view record, std::vector<std::string>& fields) {
  std::size_t count = 0;
  for (std::size_t at = 0;; ++at) {
    if (count == fields.size()) fields.emplace_back();
    std::string& field = fields[count++];
    field.clear();
    if (at < record.size() && record[at] == '"') {
      auto end = quoted_part(record, at + 1, field);
      if (!end) return std::unexpected(end.error());
      at = *end;
    }
    std::size_t comma = std::min(record.find(',', at), record.size());
    field.append(record, at, comma - at);
    at = comma;
    if (at == record.size()) break;
  }
  fields.resize(count);
  return {};
}

std::string csv_record(const std::vector<std::string_view>& fields) {
  std::string record;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) record += ',';
    std::string_view field = fields[i];
    // A record of one empty field would look like a blank line; some readers drop spaces at the ends.
    bool quotes = field.find_first_of(",\"\r\n") != std::string_view::npos ||
                  (field.empty() && fields.size() == 1) || field.starts_with(' ') || field.ends_with(' ');
    if (!quotes) {
      record += field;
      continue;
    }
    record += '"';
    for (std::size_t at = 0; at <= field.size();) {
      std::size_t quote = field.find('"', at);
      record += field.substr(at, quote - at);
      if (quote == std::string_view::npos) break;
      record += "\"\"";
      at = quote + 1;
    }
    record += '"';
  }
  record += '\n';
  return record;
}

namespace {

class CsvRows : public IndexedRows {
 public:
  CsvRows(const std::string& path, TextFile file, std::uint64_t longest)
      : IndexedRows(path, std::move(file.fd), longest) {
    RecordSource source{.fd = fd_.get(), .name = path, .max_bytes = longest, .begin = file.begin};
    read_from(std::make_unique<RecordReader>(std::move(source), std::make_unique<CsvCutter>()));
    header_ = 1;
  }

  Result<> read_header(const ReadOptions& options) {
    auto record = reader_->next();
    if (!record) return std::unexpected(record.error());
    if (!*record) return fail(fmt::format("{} is empty", name_), "its first line names the columns");
    if ((*record)->too_long || !is_text((*record)->text))
      return fail(fmt::format("the first line of {} names no columns", name_), "is it CSV, as UTF-8?");
    if (auto taken = csv_fields((*record)->text, found_); !taken)
      return fail(fmt::format("{}, first line: {}", name_, taken.error().what), taken.error().remedy);
    auto chosen = choose_columns(name_, found_, options);
    if (!chosen) return std::unexpected(chosen.error());
    columns_ = std::move(*chosen);
    auto place = [&](const std::string& name) {
      return static_cast<std::size_t>(std::ranges::find(found_, name) - found_.begin());
    };
    prompt_ = columns_.prompt.empty() ? found_.size() : place(columns_.prompt);
    completion_ = place(columns_.completion);
    return {};
  }

 protected:
  Result<TextRow> parse(std::string_view text, Scratch& scratch) const override {
    if (!is_text(text)) return fail("not UTF-8", "convert the file to UTF-8");
    if (auto taken = csv_fields(text, scratch.fields); !taken) return std::unexpected(taken.error());
    if (scratch.fields.size() != found_.size())
      return fail(
          fmt::format("{} fields, where the first line names {}", scratch.fields.size(), found_.size()),
          "quote fields with commas or newlines in them");
    TextRow row;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (i == prompt_)
        row.prompt = std::move(scratch.fields[i]);
      else if (i == completion_)
        row.completion = std::move(scratch.fields[i]);
      else
        row.rest.insert_or_assign(found_[i], scratch.fields[i]);
    }
    return row;
  }

 private:
  std::size_t prompt_ = 0;
  std::size_t completion_ = 0;
};

}  // namespace

Result<std::unique_ptr<TextRows>> open_csv(const std::string& path, const ReadOptions& options) {
  auto file = open_text(path);
  if (!file) return std::unexpected(file.error());
  auto rows = std::make_unique<CsvRows>(path, std::move(*file), options.longest_row_bytes);
  if (auto header = rows->read_header(options); !header) return std::unexpected(header.error());
  return rows;
}

namespace json = boost::json;
namespace {

constexpr std::size_t scratch_bytes = std::size_t{1} << 16;
constexpr std::size_t deepest = 128;

Error not_an_object(std::string_view text, const boost::system::error_code& error, std::size_t at) {
  if (!is_text(text)) return {"not UTF-8", "convert the file to UTF-8"};
  if (error) return {fmt::format("not JSON: {} at byte {}", error.message(), at), "one JSON object a line"};
  return {"not a JSON object", "one JSON object a line"};
}

// The line's object, allocated in `memory`.
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

// The columns of the first object. Earlier lines without an object are bad rows, which next() returns.
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

namespace {

struct Helper {
  process::Helper child;
  Fd out;
};

Error about(const std::string& path, const Error& error) {
  return {fmt::format("cannot read {}: {}", path, error.what), error.remedy};
}

// The helper's first line: {"columns": [...], "rows": N}.
std::vector<std::string> columns_of(std::string_view head) {
  std::vector<std::string> names;
  auto value = parse_json(head);
  const auto* list = value && value->is_object() ? value->get_object().if_contains("columns") : nullptr;
  if (!list || !list->is_array()) return names;
  for (const auto& name : list->get_array())
    if (name.is_string()) names.emplace_back(name.get_string());
  return names;
}

class ParquetRows : public JsonlRows {
 public:
  ParquetRows(const std::string& path, Fd laid_out, RecordSource source, Helper helper)
      : JsonlRows(path, std::move(laid_out), std::move(source)), helper_(std::move(helper)) {}

  Result<> read_head(const ReadOptions& options) {
    auto head = reader_->next();
    if (!head) return std::unexpected(head.error());
    // Without a line the helper has failed; at_end() returns its error.
    if (!*head)
      if (auto end = at_end(); !end) return end;
    header_ = 1;
    std::vector<std::string> found = columns_of(*head ? (*head)->text : std::string_view());
    auto columns = choose_columns(name_, found, options);
    if (!columns) return std::unexpected(columns.error());
    settle(std::move(found), std::move(*columns));
    return {};
  }

 protected:
  Result<> at_end() override {
    if (auto end = helper_.child.finish(); !end) return std::unexpected(about(name_, end.error()));
    return {};
  }

 private:
  Helper helper_;
};

}  // namespace

// The end of a file is [footer][its length, 4 bytes]["PAR1"].
std::string parquet_footer(const std::string& path) {
  constexpr std::streamoff end_bytes = 8;
  constexpr std::uint32_t most_bytes = 16U << 20;
  std::ifstream bytes(path, std::ios::binary);
  std::uint32_t footer_bytes = 0;  // little-endian, as this machine is
  bytes.seekg(-end_bytes, std::ios::end);
  bytes.read(reinterpret_cast<char*>(&footer_bytes), sizeof footer_bytes);
  if (!bytes || footer_bytes > most_bytes) return {};
  std::string footer(footer_bytes, '\0');
  bytes.seekg(-end_bytes - static_cast<std::streamoff>(footer_bytes), std::ios::end);
  bytes.read(footer.data(), static_cast<std::streamsize>(footer.size()));
  return bytes ? footer : std::string();
}

Result<std::unique_ptr<TextRows>> open_parquet(const std::string& path, const ReadOptions& options) {
  // Reports a directory or a missing file before a process is started.
  if (auto file = open_text(path); !file) return std::unexpected(file.error());
  auto laid_out = nameless_file(options.spill);
  if (!laid_out) return std::unexpected(laid_out.error());
  auto started =
      process::start_helper({options.parquet.python, "-I", options.parquet.script, path, "--head"});
  if (!started) return std::unexpected(started.error());
  Helper helper{std::move(started->first), std::move(started->second)};
  RecordSource source{
      .fd = helper.out.get(), .name = path, .max_bytes = options.longest_row_bytes, .copy = laid_out->get()};
  auto rows = std::make_unique<ParquetRows>(path, std::move(*laid_out), std::move(source), std::move(helper));
  if (auto head = rows->read_head(options); !head) return std::unexpected(head.error());
  return rows;
}

}  // namespace kw::table
