#include "view/report_model.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <filesystem>

#include "base/database/database.h"
#include "loop/run_store/run_reader.h"
#include "report/model/recognise.h"

namespace kw::view {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

class ReportModel : public Model {
 public:
  ReportModel(const std::vector<std::string>& paths, const ReportOptions& options)
      : paths_(paths), model_(paths, options.model), options_(options) {}

  Result<> read() override {
    auto read = model_.read();
    if (!read) return read;
    begin_again();
    return {};
  }

  Result<bool> refresh() override { return begin_again() || model_.refresh(); }

  std::string index() override {
    json::object index = report::to_json(model_.index());
    index["summary"] = options_.summary ? options_.summary(model_.index()) : json::object();
    index["chunks"] = json::array();
    return json::serialize(index);
  }

  Result<std::optional<std::string>> detail(const std::string& key) override {
    if (!model_.row_of(key)) return std::nullopt;
    auto detail = model_.detail(key);
    if (!detail) return std::unexpected(detail.error());
    return json::serialize(*detail);
  }

 private:
  // A file that was empty when it was recognised, or in the middle of its first write, is recognised again.
  bool begin_again() {
    if (model_.is_whole() || model_.index().rows.count > 0) return false;
    report::Model model(paths_, options_.model);
    if (!model.read() || model.index().rows.count == 0) return false;
    model_ = std::move(model);
    return true;
  }

  std::vector<std::string> paths_;
  report::Model model_;
  ReportOptions options_;
};

bool may_be_input(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    return fs::exists(path / "run.db", ignored) || fs::exists(path / "ANALYSIS.json", ignored);
  const std::string name = path.filename().string();
  if (name.ends_with("review.jsonl")) return false;
  for (const char* ending : {".json", ".jsonl", ".csv", ".parquet"})
    if (name.ends_with(ending)) return true;
  return false;
}

void add_summary(const std::string& run, RunFacts& facts) {
  auto reader = store::RunReader::open(run);
  if (!reader) return;
  auto summary = (*reader)->summary();
  if (!summary) return;
  facts.rows = summary->traces;
  facts.right = summary->correct;
  bool has_ended = summary->traces > 0 && summary->ended == summary->traces;
  auto state = sqlite::is_in_use(fs::path(run) / "run.db") ? report::SourceState::unfinished
               : has_ended                                 ? report::SourceState::finished
                                                           : report::SourceState::interrupted;
  facts.state = to_string(state);
}

std::optional<RunFacts> describe(const std::string& path) {
  if (!may_be_input(path)) return {};
  auto found = report::recognise_inputs(path);
  if (!found || found->size() != 1) return {};
  RunFacts facts;
  facts.name = fs::path(path).filename().string();
  facts.kind = to_string(found->front().kind);
  if (found->front().kind == report::SourceKind::run) add_summary(path, facts);
  return facts;
}

Result<std::vector<std::string>> inputs_in(const std::string& folder) {
  auto found = report::recognise_inputs(folder);
  if (!found) return std::unexpected(found.error());
  std::vector<std::string> paths;
  for (const report::Found& each : *found) paths.push_back(each.path);
  return paths;
}

}  // namespace

ModelReader report_reader(const ReportOptions& options) {
  return {[options](const std::vector<std::string>& paths) {
            return std::make_unique<ReportModel>(paths, options);
          },
          describe, inputs_in};
}

}  // namespace kw::view
