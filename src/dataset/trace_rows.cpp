#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <filesystem>

#include "corpus/normalise.h"
#include "dataset/unit_rows.h"
#include "licence/licence.h"
#include "schema/json.h"
#include "store/run_reader.h"
#include "store/training_files.h"
#include "store/training_rows.h"

namespace kw::dataset {
namespace {

namespace json = boost::json;

// The contents of a list of messages, one after the other.
std::string contents(const json::object& row, std::string_view key) {
  std::string text;
  const json::value* list = row.if_contains(key);
  if (!list || !list->is_array()) return text;
  for (const json::value& message : list->get_array()) {
    if (!message.is_object()) continue;
    if (!text.empty()) text += "\n\n";
    text += string_at(message.get_object(), "content").value_or("");
  }
  return text;
}

json::object verdict_of(const json::object& row) {
  json::object verdict;
  for (const char* key : {"correctness", "counts", "speedup", "trust", "model", "round", "turn"})
    if (const json::value* value = row.if_contains(key)) verdict[key] = *value;
  return verdict;
}

corpus::Licence licence_of(const json::object& row, const std::string& run, const LicenceRule& rule) {
  if (auto spdx = string_at(row, "licence")) return {*spdx, "the task"};
  if (auto stated = rule.stated.find(run); stated != rule.stated.end())
    return {stated->second, "stated on the command line"};
  return {};
}

corpus::Row row_of(const json::object& object, const corpus::Origin& origin, const BuildSettings& settings) {
  corpus::Row row;
  row.kind = corpus::RowKind::trace;
  row.prompt = contents(object, "prompt");
  row.completion = contents(object, "completion");
  row.id = corpus::row_key(row.prompt, row.completion);
  row.source.origin = origin;
  row.source.path = string_at(object, "task_id").value_or("");
  row.licence = licence_of(object, origin.name, settings.licences);
  row.verdict = verdict_of(object);
  // All answers to one task go to the same side.
  if (in_validation(row.source.path, settings.seed, settings.validation_share)) row.split = "validation";
  return row;
}

std::string name_of(const std::string& path) {
  std::filesystem::path full(path);
  if (!full.has_filename()) full = full.parent_path();
  return full.filename() == "run.db" ? full.parent_path().filename().string() : full.filename().string();
}

std::string why_none(const store::Tally& tally, const SourceFacts& source) {
  std::string why = store::left_out_in_words(tally);
  if (tally.benchmarks > 0)
    why += fmt::format("{}{} of a benchmark", why.empty() ? "" : ", ", tally.benchmarks);
  for (const auto& [licence, count] : source.licence_refused)
    why +=
        fmt::format("{}{} under a licence that is not allowed ({})", why.empty() ? "" : ", ", count, licence);
  return why.empty() ? "none" : why;
}

Result<> add_run(const std::string& path, const BuildSettings& settings, RowSink& sink, Facts& facts) {
  auto reader = store::open_run(path);
  if (!reader) return std::unexpected(reader.error());
  SourceFacts source;
  source.origin.kind = corpus::OriginKind::run;
  source.origin.name = name_of(path);
  store::TrainingOptions options;
  options.format = store::Format::prompt_completion;
  options.reasoning = store::ReasoningKey::none;
  store::Tally tally;
  while (true) {
    auto trace = (*reader)->next();
    if (!trace) return std::unexpected(trace.error());
    if (!*trace) break;
    ++source.tally.files_seen;
    for (const store::TrainingRow& made : store::training_rows(**trace, options, tally)) {
      auto object = parse_json(made.text);
      if (!object || !object->is_object()) continue;
      corpus::Row row = row_of(object->get_object(), source.origin, settings);
      std::string spdx = row.licence.spdx.empty() ? "unknown" : row.licence.spdx;
      if (!settings.licences.any && !licence::allowed(row.licence.spdx, settings.licences.allow)) {
        ++source.licence_refused[spdx];
        continue;
      }
      ++source.licences[spdx];
      ++source.units["trace"];
      sink.add(std::move(row));
    }
  }
  source.tally.files_taken = tally.traces;
  for (const auto& [why, count] : tally.left_out) source.tally.skipped[why] += count;
  if (tally.benchmarks > 0) source.tally.skipped["a task of a benchmark"] += tally.benchmarks;
  if (source.units.empty())
    facts.warnings.push_back(fmt::format("{}: no answer became a row; of {} traces, left out: {}",
                                         source.origin.name, source.tally.files_seen,
                                         why_none(tally, source)));
  facts.sources.push_back(std::move(source));
  return {};
}

}  // namespace

Result<> add_trace_rows(const std::vector<std::string>& runs, const BuildSettings& settings, RowSink& sink,
                        Facts& facts) {
  for (const std::string& run : runs)
    if (auto added = add_run(run, settings, sink, facts); !added) return added;
  return {};
}

}  // namespace kw::dataset
