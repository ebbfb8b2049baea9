#include "dataset/build/row_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "base/core/files.h"
#include "base/process/child.h"

namespace kw::dataset {

Result<> RowFiles::add(const std::string& path, const table::ReadOptions& options, const EachRow& each,
                       const EachBad& bad) {
  std::uint32_t first = count();
  auto opened = table::open_rows(path, options);
  if (!opened) return std::unexpected(opened.error());
  files_.push_back(std::move(*opened));
  first_.push_back(first);
  last_count_ = 0;
  while (true) {
    auto row = files_.back()->next();
    if (!row) return std::unexpected(row.error());
    if (!*row) return {};
    if (auto* error = std::get_if<RowError>(&**row)) {
      bad(*error);
      continue;
    }
    if (count() == std::numeric_limits<std::uint32_t>::max())
      return fail("too many rows", "give fewer files in one call");
    std::uint32_t number = count();
    ++last_count_;
    if (auto done = each(number, std::move(std::get<table::TextRow>(**row))); !done) return done;
  }
}

std::size_t RowFiles::index_of(std::uint32_t number) const {
  // An empty file has the same first number as the next file. The last of these files contains the row.
  return static_cast<std::size_t>(std::ranges::upper_bound(first_, number) - first_.begin()) - 1;
}

std::string RowFiles::name(std::uint32_t number) const {
  std::size_t index = index_of(number);
  return fmt::format("{}, row {}", files_[index]->file(), number - first_[index] + 1);
}

Result<table::TextRow> RowFiles::at(std::uint32_t number) const {
  std::size_t index = index_of(number);
  return files_[index]->at(number - first_[index]);
}

Result<std::string> RowFiles::raw(std::uint32_t number) const {
  std::size_t index = index_of(number);
  return files_[index]->raw(number - first_[index]);
}

namespace {

struct Shingled {
  std::uint32_t row = 0;
  std::vector<std::uint64_t> all;
  std::vector<std::uint64_t> completion;
};

// Groups of rows connected by pairs. Each group is sorted; groups are ordered by their smallest row.
std::vector<std::vector<std::uint32_t>> groups_of(const std::vector<near::Pair>& pairs) {
  std::unordered_map<std::uint32_t, std::uint32_t> parent;
  auto root = [&](std::uint32_t row) {
    parent.try_emplace(row, row);
    while (parent[row] != row) row = parent[row] = parent[parent[row]];
    return row;
  };
  for (const near::Pair& pair : pairs) {
    std::uint32_t a = root(pair.a);
    std::uint32_t b = root(pair.b);
    parent[std::max(a, b)] = std::min(a, b);
  }
  std::map<std::uint32_t, std::vector<std::uint32_t>> by_root;
  for (const auto& [row, ignored] : std::map(parent.begin(), parent.end())) by_root[root(row)].push_back(row);
  std::vector<std::vector<std::uint32_t>> groups;
  for (auto& [first, rows] : by_root) groups.push_back(std::move(rows));
  return groups;
}

Result<Shingled> shingled(const RowFiles& files, std::uint32_t number, const near::Parameters& parameters) {
  auto row = files.at(number);
  if (!row) return std::unexpected(row.error());
  return Shingled{number, near::shingle_set(text_of(*row), parameters),
                  near::shingle_set(row->completion, parameters)};
}

std::optional<DroppedRow> like(const Shingled& row, const Shingled& kept, double threshold) {
  double all = near::jaccard(row.all, kept.all);
  if (all < threshold) return std::nullopt;
  double completion = near::jaccard(row.completion, kept.completion);
  if (completion < threshold) return std::nullopt;
  return DroppedRow{row.row, kept.row, all, completion, false};
}

}  // namespace

std::string text_of(const table::TextRow& row) {
  return row.prompt.empty() ? row.completion : row.prompt + "\n" + row.completion;
}

Result<std::vector<DroppedRow>> choose_rows(const RowFiles& files, const std::vector<near::Pair>& pairs,
                                            const near::Parameters& parameters,
                                            const std::function<bool(std::uint32_t, std::uint32_t)>& better,
                                            const std::function<bool(std::uint32_t)>& fixed) {
  std::vector<DroppedRow> dropped;
  for (std::vector<std::uint32_t>& group : groups_of(pairs)) {
    std::ranges::sort(group, better);
    std::vector<Shingled> kept;
    for (std::uint32_t number : group) {
      auto row = shingled(files, number, parameters);
      if (!row) return std::unexpected(row.error());
      std::optional<DroppedRow> found;
      for (std::size_t i = 0; i < kept.size() && !found && !fixed(number); ++i)
        found = like(*row, kept[i], parameters.threshold);
      if (found)
        dropped.push_back(*found);
      else
        kept.push_back(std::move(*row));
    }
  }
  std::ranges::sort(dropped, {}, &DroppedRow::row);
  return dropped;
}

namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

enum class Form { csv, jsonl, parquet };

Result<Form> form_of(const fs::path& path) {
  std::string ending = path.extension().string();
  if (ending == ".csv") return Form::csv;
  if (ending == ".jsonl" || ending == ".json") return Form::jsonl;
  if (ending == ".parquet") return Form::parquet;
  return fail(fmt::format("{}: the extension is not .csv, .jsonl or .parquet", path.string()));
}

class Copier {
 public:
  Copier(const RowFiles& files, const CopyTarget& target, Form form)
      : files_(files), target_(target), form_(form) {
    columns_ = target.columns;
    if (columns_.empty() && files.files() > 0) columns_ = files.file(0).columns();
    if (adds()) columns_.push_back(target.added->name);
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
    if (adds()) row->rest[target_.added->name] = target_.added->value(*row);
    return out.write(form_ == Form::csv ? record(*row) : line(*row));
  }

 private:
  bool adds() const { return target_.added && target_.columns.empty(); }

  bool as_it_stands(const table::TextRows& file) const {
    if (target_.messages || !target_.columns.empty() || adds()) return false;
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
                                        (target.python.scripts / "parquet_write.py").string(), rows.string(),
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
    return fail("a CSV file cannot hold conversations", "use the extension .jsonl or .parquet");
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
