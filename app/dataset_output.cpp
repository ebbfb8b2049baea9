#include "dataset_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>

#include "base/core/json.h"
#include "base/core/text.h"
#include "base/rows/formats.h"
#include "base/rows/row_reader.h"
#include "output/output_file.h"

namespace kw::app {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> row_extensions = {".csv", ".jsonl", ".json", ".parquet"};
constexpr std::string_view kinds_of_a_build[] = {"fim", "cu2triton", "torch2triton", "trace"};

// The first line of a text file; empty if it cannot be read.
std::string first_line(const fs::path& file) {
  auto lines = open_lines(file.string());
  if (!lines) return {};
  auto line = lines->next();
  return line && *line ? (*line)->text : std::string();
}

bool has_columns(const fs::path& file, std::initializer_list<std::string_view> names) {
  if (file.extension() == ".parquet") {
    const std::string footer = table::parquet_footer(file.string());
    return std::ranges::all_of(names, [&](std::string_view name) { return footer.contains(name); });
  }
  const std::string line = first_line(file);
  if (file.extension() == ".csv") {
    std::vector<std::string> fields;
    if (!table::csv_fields(trim(line), fields)) return false;
    return std::ranges::all_of(
        names, [&](std::string_view name) { return std::ranges::find(fields, name) != fields.end(); });
  }
  auto row = parse_json(trim(line));
  return row && row->is_object() &&
         std::ranges::all_of(names, [&](std::string_view name) { return row->get_object().contains(name); });
}

bool has_rows(const fs::path& file, const ColumnFlags& columns) {
  if (has_columns(file, {columns.prompt, columns.completion}) || has_columns(file, {"messages"})) return true;
  return columns.single_text &&
         (has_columns(file, {"text"}) || has_columns(file, {"content"}) || has_columns(file, {"code"}));
}

bool is_evidence(const fs::path& file) {
  return has_columns(file, {"row", "duplicate_of", "how"});
}

Result<> check_is_no_input(const fs::path& out, const std::vector<std::string>& inputs) {
  std::error_code ignored;
  for (const std::string& input : inputs)
    if (fs::equivalent(out, input, ignored))
      return fail(fmt::format("the output would overwrite the input {}", input), "give another --output");
  return {};
}

Result<> check_rows(const std::string& out, const ColumnFlags& columns) {
  return check_ours(
      out, fmt::format("a file of rows with the columns {} and {}", columns.prompt, columns.completion),
      [&](const fs::path& file) { return has_rows(file, columns); });
}

// Whether `dataset dedup` wrote the rows; an empty list of duplicates has no fields to tell.
bool is_of_dedup(const fs::path& out) {
  std::error_code ignored;
  const fs::path evidence = evidence_beside(out);
  if (!fs::is_regular_file(evidence, ignored)) return false;
  return fs::file_size(evidence, ignored) == 0 || is_evidence(evidence);
}

}  // namespace

fs::path evidence_beside(const fs::path& out) {
  return out.string() + ".duplicates.jsonl";
}

Result<> check_row_extension(const std::string& out) {
  if (std::ranges::find(row_extensions, fs::path(out).extension().string()) != row_extensions.end())
    return {};
  return fail(fmt::format("--output {}: the extension is not .csv, .jsonl or .parquet", out),
              "the extension selects the format, as in rows.jsonl");
}

Result<> check_written(const DatasetDedupFlags& flags) {
  for (const auto& inputs : {flags.files, flags.against})
    for (const fs::path& out : {fs::path(flags.out), evidence_beside(flags.out)})
      if (auto other = check_is_no_input(out, inputs); !other) return other;
  if (auto rows = check_rows(flags.out, flags.columns); !rows) return rows;
  return check_ours(evidence_beside(flags.out), "a list of duplicates of `dataset dedup`", is_evidence);
}

Result<> check_written(const DatasetAuditFlags& flags) {
  if (flags.out.empty()) return {};
  std::error_code ignored;
  const fs::path folder = flags.out;
  if (fs::exists(folder, ignored) && !fs::is_directory(folder, ignored))
    return fail(fmt::format("{} is a file; `dataset audit` writes flags.jsonl and review.csv into a folder",
                            folder.string()),
                "name a folder with --output");
  for (const auto& inputs : {flags.files, flags.validation, flags.leak.against})
    for (const char* name : {"flags.jsonl", "review.csv"})
      if (auto other = check_is_no_input(folder / name, inputs); !other) return other;
  auto flagged = check_ours(folder / "flags.jsonl", "a list of flags of `dataset audit`",
                            [](const fs::path& file) { return has_columns(file, {"id", "row", "leakage"}); });
  if (!flagged) return flagged;
  return check_ours(folder / "review.csv", "a review of a dataset",
                    [](const fs::path& file) { return has_columns(file, {"id", "decision"}); });
}

Result<> check_written(const DatasetExportFlags& flags) {
  std::vector<std::string> inputs = {flags.source};
  for (std::string_view kind : kinds_of_a_build)
    inputs.push_back((fs::path(flags.source) / fmt::format("{}.jsonl", kind)).string());
  if (auto other = check_is_no_input(flags.out, inputs); !other) return other;
  return check_rows(flags.out, flags.columns);
}

Result<> publish_rows(const fs::path& made, const fs::path& out) {
  if (!is_of_dedup(out))
    if (auto kept = set_aside(out); !kept) return kept;
  std::error_code error;
  fs::rename(made, out, error);
  if (error) return fail(fmt::format("cannot move {} into place: {}", out.string(), error.message()));
  return {};
}

}  // namespace kw::app
