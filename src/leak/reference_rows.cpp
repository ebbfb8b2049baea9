#include "leak/reference_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "schema/json.h"
#include "table/csv.h"
#include "table/rows_columns.h"
#include "table/rows_indexed.h"
#include "table/rows_records.h"

namespace kw::leak {
namespace {

namespace json = boost::json;

constexpr std::string_view code_columns[] = {
    "code",      "python_code",  "triton_code",  "cuda_code",   "torch_code", "reference_code",
    "reference", "ref_arch_src", "pytorch_code", "kernel_code", "solution",   "canonical_solution",
    "output",    "content",      "text",         "source",      "instruction"};
constexpr std::string_view name_columns[] = {"id", "uuid", "task_id", "file", "name", "problem_name"};

using Add = std::function<void(const std::string&, std::string)>;

std::string name_of(const Row& row) {
  for (std::string_view column : name_columns)
    if (auto name = text_at(row.fields, column); name && !name->empty()) return *name;
  return fmt::format("row {}", row.number);
}

// Of a string, or of a list of messages; empty for anything else.
std::string text_in(const json::object& fields, std::string_view column) {
  const json::value* value = fields.if_contains(column);
  if (!value) return {};
  auto text = table::text_of(*value);
  return text ? std::move(*text) : std::string();
}

void add_row(const Row& row, const Add& add) {
  std::string name = name_of(row);
  std::string prompt = text_in(row.fields, "prompt");
  std::string completion = text_in(row.fields, "completion");
  if (!completion.empty()) return add(name, prompt.empty() ? completion : prompt + "\n" + completion);
  std::vector<std::pair<std::string_view, std::string>> found;
  for (std::string_view column : code_columns)
    if (std::string text = text_in(row.fields, column); !trim(text).empty()) found.emplace_back(column, text);
  if (found.empty() && !prompt.empty()) found.emplace_back("prompt", prompt);
  for (auto& [column, text] : found)
    add(found.size() == 1 ? name : fmt::format("{} ({})", name, column), std::move(text));
}

Result<> read_all(RowReader& rows, const Add& add) {
  while (true) {
    auto row = rows.next();
    if (!row) return std::unexpected(row.error());
    if (!*row) return {};
    if (auto* bad = std::get_if<RowError>(&**row)) return fail(describe(*bad), bad->remedy);
    add_row(std::get<Row>(**row), add);
  }
}

Result<> read_csv(const std::string& path, const Add& add) {
  auto file = table::open_text(path);
  if (!file) return std::unexpected(file.error());
  table::RecordSource source;
  source.fd = file->fd.get();
  source.name = path;
  source.max_bytes = LineReader::default_max;
  source.begin = file->begin;
  table::RecordReader records(std::move(source), std::make_unique<table::CsvCutter>());
  std::vector<std::string> columns;
  std::vector<std::string> fields;
  while (true) {
    auto record = records.next();
    if (!record) return std::unexpected(record.error());
    if (!*record) return {};
    std::uint64_t number = (*record)->number;
    bool usable = !(*record)->too_long && is_utf8((*record)->text);
    Result<> taken = usable ? table::csv_fields((*record)->text, fields) : fail("too long, or not UTF-8");
    if (!taken) return fail(fmt::format("{}, record {}: {}", path, number, taken.error().what));
    if (columns.empty()) {
      columns = fields;
      continue;
    }
    Row row{number - 1, {}};
    for (std::size_t i = 0; i < std::min(fields.size(), columns.size()); ++i)
      row.fields.insert_or_assign(columns[i], fields[i]);
    add_row(row, add);
  }
}

// Lists are written into files called .jsonl too: the first sign decides.
Result<std::unique_ptr<RowReader>> open_json(const std::string& path) {
  auto lines = open_lines(path);
  if (!lines) return std::unexpected(lines.error());
  while (true) {
    auto line = lines->next();
    if (!line) return std::unexpected(line.error());
    if (!*line) return read_jsonl(path);
    std::string_view text = trim((*line)->text);
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    if (text.empty()) continue;
    return text.front() == '[' ? read_json_list(path) : read_jsonl(path);
  }
}

}  // namespace

Result<> read_reference_rows(const std::string& path, const ParquetHelper& parquet, const Add& add) {
  std::string ending = std::filesystem::path(path).extension().string();
  if (ending == ".csv") return read_csv(path, add);
  if (ending == ".parquet" && parquet.python.empty())
    return fail(fmt::format("cannot read {}: Parquet needs a Python with pyarrow", path),
                "give one with --python");
  auto rows = ending == ".parquet" ? read_parquet(path, parquet) : open_json(path);
  if (!rows) return std::unexpected(rows.error());
  return read_all(**rows, add);
}

}  // namespace kw::leak
