#include "table/parquet_rows.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <utility>

#include "process/helper.h"
#include "schema/json.h"
#include "table/jsonl_rows.h"

namespace kw::table {
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
    // Without a line the helper has failed, and says why.
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

Result<std::unique_ptr<TextRows>> open_parquet(const std::string& path, const ReadOptions& options) {
  // A directory or a missing file is named before a process is started for it.
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
