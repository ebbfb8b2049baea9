#include "score/report/result.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <fstream>
#include <set>

#include "base/core/files.h"
#include "base/core/json.h"

namespace kw::scoring {
namespace json = boost::json;
namespace {

constexpr std::size_t most_bad_rows = 100;

json::object training_json(const TrainingCheck& check) {
  json::array manifests;
  for (const TrainingCheck::Manifest& manifest : check.manifests)
    manifests.push_back(json::object{{"path", manifest.path},
                                     {"base_model", manifest.base_model},
                                     {"rows", manifest.rows},
                                     {"rows_without_task", manifest.rows_without_task}});
  json::array seen;
  for (const TrainingCheck::Seen& one : check.seen)
    seen.push_back(
        json::object{{"item", one.item}, {"by", one.by}, {"what", one.what}, {"manifest", one.manifest}});
  return {{"checked", !check.manifests.empty()},
          {"manifests", std::move(manifests)},
          {"items", check.items},
          {"not_comparable", check.not_comparable},
          {"allowed", check.is_allowed},
          {"seen", std::move(seen)}};
}

json::object outputs_json(const OutputSet& set) {
  std::set<std::string> items;
  std::size_t scored = 0;
  std::size_t empty = 0;
  for (const Output& output : set.outputs) {
    if (!output.record.is_scored) continue;
    items.insert(output.record.item);
    ++scored;
    empty += output.code.empty();
  }
  json::array bad;
  for (const RowError& error : set.bad_rows)
    if (bad.size() < most_bad_rows) bad.emplace_back(describe(error));
  return {{"outputs", set.outputs.size()},
          {"scored", scored},
          {"items", items.size()},
          {"without_code", empty},
          {"unreadable_rows", set.bad_rows.size()},
          {"unreadable", std::move(bad)}};
}

json::value paired_json(const ResultParts& parts, const std::vector<ScoredAnswer>& records) {
  if (!parts.baseline) return {};
  json::object paired = paired_section(parts.baseline->records, records, parts.figures);
  paired["baseline"] = parts.baseline->name;
  std::size_t trained = 0;
  for (const ScoredAnswer& record : parts.baseline->records)
    trained += record.is_scored && record.was_trained_on;
  paired["baseline_trained_on"] = trained;
  return paired;
}

}  // namespace

json::object result_of(const ResultParts& parts) {
  std::vector<ScoredAnswer> records;
  for (const Output& output : parts.set->outputs) records.push_back(output.record);
  json::object result{{"schema", score_schema}};
  for (const auto& [name, value] : parts.made) result[name] = value;
  result["training"] = training_json(parts.training);
  result["scored"] = parts.scored;
  result["counts"] = outputs_json(*parts.set);
  result["verdicts"] = verdict_section(records, parts.figures);
  result["static"] = static_section(records, parts.figures);
  result["overlap"] = overlap_section(parts.set->outputs, parts.figures);
  result["compile"] = compile_section(records, parts.compile_asked, parts.figures);
  result["paired"] = paired_json(parts, records);
  result["review"] = nullptr;
  result["protocol"] = parts.protocol;
  result["machine"] = parts.machine;
  result["bootstrap"] = json::object{{"resamples", parts.figures.bootstrap.resamples},
                                     {"seed", parts.figures.bootstrap.seed},
                                     {"confidence", parts.figures.bootstrap.confidence}};
  json::array outputs;
  for (const ScoredAnswer& record : records) outputs.push_back(to_json(record));
  result["outputs"] = std::move(outputs);
  return result;
}

bool is_result(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string head(256, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  return head.contains("\"kernelwright.score/");
}

Result<json::object> read_result(const std::filesystem::path& path) {
  auto text = read_text_file(path);
  if (!text) return std::unexpected(text.error());
  auto value = parse_json(*text);
  const char* remedy = "name the JSON file that `kernelwright score --output` wrote";
  if (!value) return fail(fmt::format("{}: {}", path.string(), value.error().what), remedy);
  const json::object* object = value->if_object();
  std::string schema = object ? string_at(*object, "schema").value_or("") : "";
  if (schema != score_schema)
    return fail(fmt::format("{} is not a result of this version: its schema is \"{}\", not {}", path.string(),
                            schema, score_schema),
                remedy);
  return *object;
}

Result<std::vector<ScoredAnswer>> records_of(const json::object& result) {
  const json::value* outputs = result.if_contains("outputs");
  if (!outputs || !outputs->is_array()) return fail("the result has no list \"outputs\"");
  std::vector<ScoredAnswer> records;
  for (const json::value& value : outputs->get_array()) {
    if (!value.is_object()) return fail("one of the result's \"outputs\" is not an object");
    auto record = record_from_json(value.get_object());
    if (!record) return std::unexpected(record.error());
    records.push_back(std::move(*record));
  }
  return records;
}

std::string pretty(const json::object& object) {
  std::string text = "{\n";
  std::size_t left = object.size();
  for (const auto& [name, value] : object) {
    text += fmt::format(" {}: ", json::serialize(json::string(name)));
    const json::array* list = value.if_array();
    if (list && !list->empty() && list->front().is_object()) {
      text += "[\n";
      for (std::size_t i = 0; i < list->size(); ++i)
        text += fmt::format("  {}{}\n", json::serialize((*list)[i]), i + 1 < list->size() ? "," : "");
      text += " ]";
    } else if (value.is_object() && !value.get_object().empty()) {
      text += "{\n";
      std::size_t members = value.get_object().size();
      for (const auto& [key, member] : value.get_object())
        text += fmt::format("  {}: {}{}\n", json::serialize(json::string(key)), json::serialize(member),
                            --members > 0 ? "," : "");
      text += " }";
    } else {
      text += json::serialize(value);
    }
    text += --left > 0 ? ",\n" : "\n";
  }
  return text + "}\n";
}

}  // namespace kw::scoring
