#include "dataset/row_copy.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/serialize.hpp>

#include "base/new_file.h"
#include "process/helper.h"

namespace kw::dataset {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

enum class Form { csv, jsonl, parquet };

Result<Form> form_of(const fs::path& path) {
  std::string ending = path.extension().string();
  if (ending == ".csv") return Form::csv;
  if (ending == ".jsonl" || ending == ".json") return Form::jsonl;
  if (ending == ".parquet") return Form::parquet;
  return fail(fmt::format("{}: the ending is none of .csv, .jsonl, .parquet", path.string()));
}

class Copier {
 public:
  Copier(const RowFiles& files, const CopyTarget& target, Form form)
      : files_(files), target_(target), form_(form) {
    columns_ = target.columns;
    if (columns_.empty() && files.files() > 0) columns_ = files.file(0).columns();
  }

  Result<> head(NewFile& out) const {
    if (form_ != Form::csv || files_.files() == 0) return {};
    std::vector<std::string_view> names(columns_.begin(), columns_.end());
    return out.write(table::csv_record(names));
  }

  Result<> row(std::uint32_t number, NewFile& out) const {
    const table::TextRows& file = files_.file_of(number);
    if (as_it_stands(file)) {
      auto raw = files_.raw(number);
      if (!raw) return std::unexpected(raw.error());
      return out.write(*raw + "\n");
    }
    auto row = files_.at(number);
    if (!row) return std::unexpected(row.error());
    return out.write(form_ == Form::csv ? record(*row) : line(*row));
  }

 private:
  bool as_it_stands(const table::TextRows& file) const {
    if (target_.messages || !target_.columns.empty()) return false;
    auto form = form_of(file.file());
    if (!form || *form == Form::parquet) return false;
    if (fs::path(file.file()).extension() == ".json") return false;
    if (form_ == Form::csv) return *form == Form::csv && file.columns() == columns_;
    return *form == Form::jsonl;
  }

  std::string text(const table::TextRow& row, const std::string& column) const {
    if (column == target_.prompt) return row.prompt;
    if (column == target_.completion) return row.completion;
    const json::value* value = row.rest.if_contains(column);
    if (!value) return column == columns_.back() && row.prompt.empty() ? row.completion : std::string();
    if (value->is_null()) return {};
    return value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
  }

  std::string record(const table::TextRow& row) const {
    std::vector<std::string> texts;
    for (const std::string& column : columns_) texts.push_back(text(row, column));
    return table::csv_record({texts.begin(), texts.end()});
  }

  std::string line(const table::TextRow& row) const {
    json::object object =
        target_.messages ? conversation(row)
                         : json::object{{target_.prompt, row.prompt}, {target_.completion, row.completion}};
    for (const auto& [key, value] : row.rest)
      if (target_.columns.empty() || std::ranges::find(columns_, key) != columns_.end())
        object.emplace(key, value);
    return json::serialize(object) + "\n";
  }

  static json::object conversation(const table::TextRow& row) {
    json::array messages;
    if (!row.prompt.empty()) messages.push_back(json::object{{"role", "user"}, {"content", row.prompt}});
    messages.push_back(json::object{{"role", "assistant"}, {"content", row.completion}});
    return {{"messages", std::move(messages)}};
  }

  const RowFiles& files_;
  const CopyTarget& target_;
  Form form_;
  std::vector<std::string> columns_;
};

Result<> to_parquet(const fs::path& rows, const CopyTarget& target) {
  auto started = process::start_helper({target.python.python, "-I",
                                        (target.python.package / "parquet_write.py").string(), rows.string(),
                                        target.out.string()});
  if (!started) return std::unexpected(started.error());
  return started->first.finish();
}

}  // namespace

Result<> copy_rows(const RowFiles& files, const std::function<std::optional<std::uint32_t>()>& next,
                   const CopyTarget& target) {
  auto form = form_of(target.out);
  if (!form) return std::unexpected(form.error());
  if (target.messages && *form == Form::csv)
    return fail("a CSV file cannot hold conversations", "end the name with .jsonl or .parquet");
  fs::path path =
      *form == Form::parquet ? target.spill / fmt::format("copy-{}.jsonl", ::getpid()) : target.out;
  auto out = NewFile::create(path);
  if (!out) return std::unexpected(out.error());
  Copier copier(files, target, *form);
  if (auto done = copier.head(*out); !done) return done;
  while (auto number = next())
    if (auto done = copier.row(*number, *out); !done) return done;
  if (auto done = out->finish(); !done || *form != Form::parquet) return done;
  auto done = to_parquet(path, target);
  std::error_code ignored;
  fs::remove(path, ignored);
  return done;
}

}  // namespace kw::dataset
