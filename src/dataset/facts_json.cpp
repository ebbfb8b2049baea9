#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.h"
#include "corpus/names.h"
#include "dataset/analysis_words.h"

namespace kw::dataset {
namespace json = boost::json;
namespace {

// Names come from archives and files: only UTF-8 may stand in JSON.
std::string clean(std::string_view text) {
  return to_utf8(text);
}

json::value text_or_null(const std::string& text) {
  if (text.empty()) return nullptr;
  return json::value(clean(text));
}

json::object to_json(const Counts& counts) {
  json::object object;
  for (const auto& [name, count] : counts) object[clean(name)] = count;
  return object;
}

json::object to_json(const Histogram& histogram) {
  json::object object{{"count", histogram.count}, {"buckets", json::array()}};
  for (const char* name : {"mean", "least", "most", "p10", "median", "p90", "p99"}) object[name] = nullptr;
  if (histogram.count == 0) return object;
  for (std::uint64_t bucket : histogram.buckets) object["buckets"].as_array().emplace_back(bucket);
  object["mean"] = static_cast<double>(histogram.sum) / static_cast<double>(histogram.count);
  object["least"] = histogram.least;
  object["most"] = histogram.most;
  object["p10"] = histogram.quantile(0.1);
  object["median"] = histogram.quantile(0.5);
  object["p90"] = histogram.quantile(0.9);
  object["p99"] = histogram.quantile(0.99);
  return object;
}

json::object to_json(const collect::Tally& tally) {
  return {{"seen", tally.files_seen},
          {"taken", tally.files_taken},
          {"bytes_seen", tally.bytes_seen},
          {"bytes_taken", tally.bytes_taken},
          {"skipped", to_json(tally.skipped)}};
}

json::object to_json(const SourceFacts& facts) {
  const corpus::Origin& origin = facts.origin;
  json::object evidence;
  for (const auto& [licence, counts] : facts.licence_evidence) evidence[clean(licence)] = to_json(counts);
  return {{"kind", corpus::to_string(origin.kind)},
          {"name", clean(origin.name)},
          {"version", text_or_null(origin.version)},
          {"commit", text_or_null(origin.commit)},
          {"sha256", text_or_null(origin.sha256)},
          {"url", text_or_null(origin.url)},
          {"stars", origin.stars ? json::value(*origin.stars) : json::value(nullptr)},
          {"files", to_json(facts.tally)},
          {"files_with_errors", facts.files_with_errors},
          {"units", to_json(facts.units)},
          {"licences", to_json(facts.licences)},
          {"licence_evidence", std::move(evidence)},
          {"licence_refused", to_json(facts.licence_refused)}};
}

json::object to_json(const DuplicateFacts& facts) {
  return {{"exact_units", facts.exact_units}, {"renamed_units", facts.renamed_units},
          {"near_units", facts.near_units},   {"clusters", facts.clusters},
          {"candidates", facts.candidates},   {"largest_cluster", facts.largest_cluster},
          {"verified", facts.verified},       {"over", facts.over},
          {"exact_rows", facts.exact_rows}};
}

json::object to_json(const RowFacts& facts) {
  return {{"count", facts.rows},
          {"kinds", to_json(facts.kinds)},
          {"holes", to_json(facts.nodes)},
          {"renderings", to_json(facts.renderings)},
          {"sources", to_json(facts.sources)},
          {"licences", to_json(facts.licences)},
          {"splits", to_json(facts.splits)},
          {"compile", to_json(facts.compile)},
          {"labels", to_json(facts.labels)},
          {"leaks", to_json(facts.leaks)},
          {"review", to_json(facts.review)},
          {"lengths", json::object{{"prompt_characters", to_json(facts.prompt_characters)},
                                   {"completion_characters", to_json(facts.completion_characters)},
                                   {"tokens", to_json(facts.tokens)}}}};
}

json::object timing(const Facts& facts) {
  json::array stages;
  for (const Stage& stage : facts.stages) {
    json::value rate = nullptr;  // 10^6 bytes a second
    if (stage.seconds > 0 && stage.bytes > 0) rate = static_cast<double>(stage.bytes) / 1e6 / stage.seconds;
    stages.push_back(json::object{{"name", clean(stage.name)},
                                  {"seconds", stage.seconds},
                                  {"bytes", stage.bytes},
                                  {"items", stage.items},
                                  {"mb_per_s", rate}});
  }
  json::array from_state;
  for (const SourceFacts& source : facts.sources)
    if (source.from_state) from_state.emplace_back(clean(source_name(source.origin)));
  return {{"stages", std::move(stages)}, {"from_state", std::move(from_state)}};
}

// The same with the keys of all objects in order.
json::value sorted(const json::value& value) {
  if (const auto* array = value.if_array()) {
    json::array list;
    for (const json::value& each : *array) list.push_back(sorted(each));
    return list;
  }
  const auto* object = value.if_object();
  if (!object) return value;
  std::vector<json::string_view> keys;
  for (const auto& member : *object) keys.push_back(member.key());
  std::ranges::sort(keys);
  json::object ordered;
  for (json::string_view key : keys) ordered.emplace(key, sorted(object->at(key)));
  return ordered;
}

bool is_flat(const json::array& array) {
  return std::ranges::none_of(array, [](const json::value& each) { return each.is_structured(); });
}

// As few digits as tell it apart: 0.8 and not 8E-1.
std::string number(double value) {
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

void append(std::string& out, const json::value& value, std::size_t depth);

template <typename List, typename Write>
void append_members(std::string& out, const List& list, std::size_t depth, Write write) {
  bool first = true;
  for (const auto& each : list) {
    fmt::format_to(std::back_inserter(out), "{}\n{:{}}", first ? "" : ",", "", 2 * (depth + 1));
    first = false;
    write(each);
  }
  fmt::format_to(std::back_inserter(out), "\n{:{}}", "", 2 * depth);
}

void append(std::string& out, const json::value& value, std::size_t depth) {
  if (const auto* object = value.if_object(); object && !object->empty()) {
    out += '{';
    append_members(out, *object, depth, [&](const json::key_value_pair& member) {
      out += json::serialize(member.key()) + ": ";
      append(out, member.value(), depth + 1);
    });
    out += '}';
  } else if (const auto* array = value.if_array(); array && !is_flat(*array)) {
    out += '[';
    append_members(out, *array, depth, [&](const json::value& each) { append(out, each, depth + 1); });
    out += ']';
  } else {
    out += value.is_double() ? number(value.get_double()) : json::serialize(value);
  }
}

}  // namespace

std::string readable(const json::value& value) {
  std::string out;
  append(out, value, 0);
  return out;
}

json::object to_json(const Facts& facts) {
  json::array sources;
  for (const SourceFacts& source : facts.sources) sources.push_back(to_json(source));
  json::array warnings;
  for (const std::string& warning : facts.warnings) warnings.emplace_back(clean(warning));
  json::object object{{"schema", "kernelwright.dataset_analysis/1"},
                      {"program", facts.program},
                      {"made_by", clean(facts.made_by)},
                      {"tokenizer", json::object{{"name", text_or_null(facts.tokenizer)},
                                                 {"why_null", text_or_null(facts.tokens_why_null)}}},
                      {"sources", std::move(sources)},
                      {"units", to_json(facts.units)},
                      {"units_compile", to_json(facts.units_compile)},
                      {"compile_reasons", to_json(facts.compile_reasons)},
                      {"duplicates", to_json(facts.duplicates)},
                      {"pairs", json::object{{"cuda", facts.cuda_pairs},
                                             {"cuda_weak", facts.cuda_pairs_weak},
                                             {"torch", facts.torch_pairs}}},
                      {"rows", to_json(facts.rows)},
                      {"parameters", facts.parameters},
                      {"warnings", std::move(warnings)}};
  return sorted(object).as_object();
}

std::string analysis_json(const Facts& facts) {
  return readable(to_json(facts)) + "\n";
}

std::string times_json(const Facts& facts) {
  return readable(timing(facts)) + "\n";
}

}  // namespace kw::dataset
