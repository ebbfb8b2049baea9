#include "table/csv_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "table/csv.h"
#include "table/rows_indexed.h"

namespace kw::table {
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

}  // namespace kw::table
