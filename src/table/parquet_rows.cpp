#include "table/parquet_rows.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <utility>

#include "schema/json.h"
#include "table/child.h"
#include "table/jsonl_rows.h"
#include "table/line_reader.h"

namespace kw::table {
namespace {

struct Helper {
  Child child;
  Fd out;
};

Error about(const std::string& path, const Error& error) {
  return {fmt::format("cannot read {}: {}", path, error.what), error.remedy};
}

Result<std::pair<Child, Fd>> ask(const std::string& path, const ParquetHelper& helper, bool schema) {
  std::vector<std::string> argv{helper.python, "-I", helper.script, path};
  if (schema) argv.emplace_back("--schema");
  return start_child(argv);
}

Result<std::vector<std::string>> columns_of(const std::string& path, const ParquetHelper& helper) {
  auto started = ask(path, helper, true);
  if (!started) return std::unexpected(started.error());
  LineReader lines(std::move(started->second), path);
  auto line = lines.next();
  if (!line) return std::unexpected(line.error());
  if (auto end = started->first.finish(); !end) return std::unexpected(about(path, end.error()));
  auto value = parse_json(*line ? (*line)->text : "");
  const auto* list = value && value->is_object() ? value->get_object().if_contains("columns") : nullptr;
  if (!list || !list->is_array()) return fail(fmt::format("cannot read {}: its columns are unknown", path));
  std::vector<std::string> names;
  for (const auto& name : list->get_array())
    if (name.is_string()) names.emplace_back(name.get_string());
  return names;
}

class ParquetRows : public JsonlRows {
 public:
  ParquetRows(const std::string& path, Fd laid_out, RecordSource source, Helper helper)
      : JsonlRows(path, std::move(laid_out), std::move(source)), helper_(std::move(helper)) {}

 protected:
  Result<> at_end() override {
    if (auto end = helper_.child.finish(); !end) return std::unexpected(about(name_, end.error()));
    return {};
  }

 private:
  Helper helper_;
};

}  // namespace

Result<std::unique_ptr<TextRows>> open_parquet(const std::string& path, const ReadOptions& options) {
  // A directory or a missing file is named before a process is started for it.
  if (auto file = open_text(path); !file) return std::unexpected(file.error());
  auto found = columns_of(path, options.parquet);
  if (!found) return std::unexpected(found.error());
  auto columns = choose_columns(path, *found, options);
  if (!columns) return std::unexpected(columns.error());
  auto laid_out = nameless_file(options.spill);
  if (!laid_out) return std::unexpected(laid_out.error());
  auto started = ask(path, options.parquet, false);
  if (!started) return std::unexpected(started.error());
  Helper helper{std::move(started->first), std::move(started->second)};
  RecordSource source{
      .fd = helper.out.get(), .name = path, .max_bytes = options.longest_row_bytes, .copy = laid_out->get()};
  auto rows = std::make_unique<ParquetRows>(path, std::move(*laid_out), std::move(source), std::move(helper));
  rows->settle(std::move(*found), std::move(*columns));
  return rows;
}

}  // namespace kw::table
