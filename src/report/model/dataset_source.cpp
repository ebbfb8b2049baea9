#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/core/files.h"
#include "base/core/json.h"
#include "base/rows/row_reader.h"
#include "base/rows/rows.h"
#include "dataset/units/row.h"
#include "report/model/fill.h"
#include "report/model/source.h"

namespace kw::report {
namespace json = boost::json;
namespace fs = std::filesystem;
namespace {

constexpr std::size_t most_dropped_units = 500;  // of each list; the others are counted

class DatasetSource : public Source {
 public:
  using Source::Source;

  Result<json::object> detail(std::size_t row) override {
    auto text = files_[places_[row].file]->at(places_[row].number);
    if (!text) return std::unexpected(text.error());
    json::object fields = std::move(text->rest);
    json::object detail{{"kind", "dataset"}, {"key", table_.rows.key[row]}, {"twin", twin_of(row)}};
    fields["prompt"] = options().redact ? json::value() : json::value(text->prompt);
    fields["completion"] = text->completion;
    detail["row"] = std::move(fields);
    clean(detail);
    return detail;
  }

  json::object extra() const override { return analysis_; }

 protected:
  Result<> read_all(const Sink& sink) override {
    files_.clear();
    places_.clear();
    rows_by_id_.clear();
    read_analysis();
    for (const char* name : {"duplicates", "left_out"}) read_dropped(name);
    std::error_code error;
    std::vector<fs::path> files{path()};
    if (fs::is_directory(path(), error)) files = dataset_files(path());
    if (files.empty()) damaged(fmt::format("{} has no rows", path()));
    for (const fs::path& file : files) read_file(file);
    // A twin may come after its row: the details follow when all rows are known.
    for (std::size_t row = 0; sink && row < places_.size(); ++row) {
      auto one = detail(row);
      if (!one) {
        damaged(one.error().what);
        one = json::object{
            {"kind", "dataset"}, {"key", table_.rows.key[row]}, {"row", nullptr}, {"twin", nullptr}};
      }
      if (auto given = sink(row, std::move(*one)); !given) return given;
    }
    return {};
  }

 private:
  struct Place {
    std::size_t file = 0;
    std::uint64_t number = 0;
  };

  void read_analysis() {
    analysis_.clear();
    std::error_code error;
    fs::path file = fs::path(path()) / "ANALYSIS.json";
    if (!fs::exists(file, error)) return;
    if (!fs::is_regular_file(file, error)) return damaged("ANALYSIS.json: not a regular file");
    auto text = kw::read_file(file);
    auto value = text ? parse_json(*text) : std::unexpected(text.error());
    if (!value || !value->is_object())
      return damaged(fmt::format("ANALYSIS.json: {}", value ? "not an object" : value.error().what));
    analysis_ = std::move(value->get_object());
    if (const json::value* parameters = analysis_.if_contains("parameters");
        parameters && parameters->is_object())
      flat_facts("", parameters->get_object());
    clean(analysis_);
  }

  // The units that `dataset build` dropped, from its list of this name: {"count": N, "units": [...]}.
  void read_dropped(const char* name) {
    std::error_code error;
    fs::path file = fs::path(path()) / fmt::format("{}.jsonl", name);
    if (!fs::is_regular_file(file, error) || fs::file_size(file, error) == 0) return;
    auto rows = read_jsonl(file.string());
    if (!rows) return damaged(rows.error().what);
    std::uint64_t count = 0;
    json::array units;
    while (true) {
      auto next = (*rows)->next();
      if (!next) return damaged(next.error().what);
      if (!*next) break;
      if (const RowError* bad = std::get_if<RowError>(&**next)) {
        damaged(describe(*bad));
        continue;
      }
      if (count++ < most_dropped_units) units.push_back(std::move(std::get<Row>(**next).fields));
    }
    json::object list{{"count", count}, {"units", std::move(units)}};
    clean(list);
    json::value& dropped = analysis_["dropped"];
    if (!dropped.is_object()) dropped = json::object();
    dropped.get_object()[name] = std::move(list);
  }

  void read_file(const fs::path& file) {
    table::ReadOptions how;
    how.single_text = true;
    how.parquet = options().parquet;
    auto rows = table::open_rows(file.string(), how);
    if (!rows) return damaged(rows.error().what);
    files_.push_back(std::move(*rows));
    table::TextRows& open = *files_.back();
    while (true) {
      auto next = open.next();
      if (!next) return damaged(next.error().what);
      if (!*next) return;
      if (const RowError* bad = std::get_if<RowError>(&**next))
        damaged(describe(*bad));
      else
        add(std::get<table::TextRow>(**next), open.count() - 1);
    }
  }

  void add(const table::TextRow& text, std::uint64_t number) {
    if (leave_out(licence_of(text.rest))) return;
    std::string id = text_at(text.rest, "id").value_or("");
    std::size_t row = add_row(unique_key(id.empty() ? corpus::row_key(text.prompt, text.completion) : id));
    fill_dataset(text.rest, table_.rows);
    table_.counts[row] = {.prompts = text.prompt.empty() || options().redact ? 0U : 1U,
                          .completions = text.completion.empty() ? 0U : 1U,
                          .dataset_rows = 1};
    places_.push_back({files_.size() - 1, number});
    if (!id.empty()) rows_by_id_.try_emplace(std::move(id), row);
  }

  // The row that this one duplicates.
  json::value twin_of(std::size_t row) {
    std::string_view id = table_.rows.duplicate_of[row];
    if (id.empty()) return nullptr;
    json::object twin{{"id", id}, {"key", nullptr}, {"completion", nullptr}};
    auto found = rows_by_id_.find(std::string(id));
    if (found == rows_by_id_.end()) return twin;
    const Place& place = places_[found->second];
    twin["key"] = table_.rows.key[found->second];
    if (auto text = files_[place.file]->at(place.number)) twin["completion"] = text->completion;
    return twin;
  }

  std::vector<std::unique_ptr<table::TextRows>> files_;
  std::vector<Place> places_;  // by row
  std::map<std::string, std::size_t> rows_by_id_;
  json::object analysis_;
};

}  // namespace

std::unique_ptr<Source> dataset_source(SourceParts parts) {
  return std::make_unique<DatasetSource>(std::move(parts));
}

}  // namespace kw::report
