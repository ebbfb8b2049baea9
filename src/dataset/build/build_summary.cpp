#include "dataset/build/build_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <cmath>
#include <functional>
#include <set>
#include <tuple>
#include <utility>

#include "base/core/counted.h"
#include "base/core/text.h"
#include "dataset/build/reports.h"
#include "dataset/licence/expression.h"
#include "types/struct_json.h"

namespace kw::dataset {
namespace {

constexpr std::size_t commit_digits = 12;

std::string known(const std::string& spdx) {
  return spdx.empty() ? "unknown" : spdx;
}

// The number of code points, as Python's len().
std::uint64_t characters(std::string_view text) {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }));
}

// The first 64 bits of an id that is a hash in hex; of any other id, its hash.
std::uint64_t short_key(const std::string& id) {
  std::uint64_t key = 0;
  const char* end = id.data() + std::min<std::size_t>(id.size(), 16);
  auto [stopped, error] = std::from_chars(id.data(), end, key, 16);
  return error == std::errc() && stopped == end && id.size() >= 16 ? key : std::hash<std::string>{}(id);
}

// Of all code in the row: a pair has that of both sides. Empty where one of them is unknown.
std::string licence_of(const corpus::Row& row) {
  return row.pair ? licence::both({row.licence.spdx, row.pair->other_licence.spdx}) : row.licence.spdx;
}

// Counts a kernel with several rows once.
void count_kernel(RowFacts& facts, const corpus::Row& row) {
  if (!facts.kernels.insert(short_key(row.unit.empty() ? row.id : row.unit)).second) return;
  ++facts.compile[std::string(to_string(row.labels.compile))];
}

void count_labels(Counts& counts, const corpus::Labels& labels) {
  auto count = [&](const char* name, bool has) { counts[name] += has ? 1 : 0; };
  count("masked_loads", labels.masked_loads);
  count("boundary_check", labels.boundary_check);
  count("shared_memory", labels.shared_memory);
  count("atomics", labels.atomics);
  count("autotune", labels.autotune);
  count("self_contained", labels.self_contained);
  count("clear_argument_shapes", labels.clear_argument_shapes);
}

// Counts a row once per relation and resembled text.
void count_leaks(Counts& counts, const std::vector<corpus::Leak>& leaks) {
  std::set<std::string> names;
  for (const corpus::Leak& leak : leaks)
    names.insert(leak.against.empty() ? leak.relation : leak.relation + " " + leak.against);
  for (const std::string& name : names) ++counts[name];
}

// "SPDX tag, line 3" → "SPDX tag": files that differ only in the line are one entry.
std::string without_line(const std::string& evidence) {
  std::size_t comma = evidence.find(", line ");
  return evidence.empty() ? "no evidence" : evidence.substr(0, comma);
}

}  // namespace

std::string source_name(const corpus::Origin& origin) {
  std::string name = origin.name.empty() ? std::string(to_string(origin.kind)) : origin.name;
  if (!origin.version.empty()) return name + " " + origin.version;
  return origin.commit.empty() ? name : name + " at " + origin.commit.substr(0, commit_digits);
}

bool is_same(const corpus::Origin& a, const corpus::Origin& b) {
  return std::tie(a.kind, a.name, a.version, a.commit, a.sha256) ==
         std::tie(b.kind, b.name, b.version, b.commit, b.sha256);
}

void add(SourceFacts& facts, const corpus::Licence& licence) {
  ++facts.licences[known(licence.spdx)];
  ++facts.licence_evidence[known(licence.spdx)][without_line(licence.evidence)];
}

void state_licence(SourceFacts& facts, const corpus::Licence& stated) {
  auto unknown = facts.licences.find(known({}));
  if (stated.spdx.empty() || unknown == facts.licences.end()) return;
  facts.licences[stated.spdx] += unknown->second;
  facts.licence_evidence[stated.spdx][stated.evidence] += unknown->second;
  facts.licence_evidence.erase(unknown->first);
  facts.licences.erase(unknown);
}

void add(RowFacts& facts, const corpus::Row& row, std::optional<std::int64_t> prompt_tokens) {
  ++facts.rows;
  ++facts.kinds[std::string(to_string(row.kind))];
  ++facts.sources[source_name(row.source.origin)];
  ++facts.licences[known(licence_of(row))];
  ++facts.splits[row.split];
  if (row.hole) {
    ++facts.nodes[row.hole->node];
    ++facts.renderings[row.hole->rendering];
  }
  ++facts.targets[std::string(to_string(row.target))];
  if (!row.generator.empty()) ++facts.generators[row.generator];
  for (const std::string& statement : std::set(row.provenance.begin(), row.provenance.end()))
    ++facts.provenance[statement];
  count_kernel(facts, row);
  count_labels(facts.labels, row.labels);
  count_leaks(facts.leaks, row.leakage);
  if (!row.verdict.empty()) ++facts.verdicts[known(string_at(row.verdict, "trust").value_or(""))];
  if (row.pair && !row.verdict.empty())
    ++(bool_at(row.verdict, "cuda_verified").value_or(true) ? facts.judged_pairs : facts.half_judged_pairs);
  facts.prompt_characters.add(characters(row.prompt));
  facts.completion_characters.add(characters(row.completion));
  if (row.difficulty.tokens > 0) facts.completion_tokens.add(row.difficulty.tokens);
  if (row.tokens) facts.tokens.add(static_cast<std::uint64_t>(std::max<std::int64_t>(*row.tokens, 0)));
  if (!row.tokens || !prompt_tokens) return;
  for (auto& [limit, counts] : facts.limits) {
    // The trainer adds a token that ends the text, and cuts at the limit.
    if (*row.tokens + 1 > static_cast<std::int64_t>(limit)) ++counts.longer;
    if (*prompt_tokens >= static_cast<std::int64_t>(limit)) ++counts.dropped;
  }
}

void Histogram::add(std::uint64_t value) {
  std::size_t bucket = value == 0 ? 0 : static_cast<std::size_t>(std::bit_width(value)) - 1;
  if (buckets.size() <= bucket) buckets.resize(bucket + 1);
  ++buckets[bucket];
  least = count == 0 ? value : std::min(least, value);
  most = std::max(most, value);
  ++count;
  sum += value;
}

std::uint64_t Histogram::quantile(double share) const {
  if (count == 0) return 0;
  auto rank = static_cast<std::uint64_t>(std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(count)));
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    below += buckets[i];
    if (below >= std::max<std::uint64_t>(rank, 1)) return i == 0 ? 0 : std::uint64_t{1} << i;
  }
  return std::uint64_t{1} << (buckets.size() - 1);
}

std::vector<BenchmarkFacts> compared(const std::vector<leak::Reference>& references) {
  std::vector<BenchmarkFacts> facts;
  for (leak::Benchmark& benchmark : leak::benchmarks_of(references))
    facts.push_back({.benchmark = std::move(benchmark)});
  return facts;
}

void add_found(std::vector<BenchmarkFacts>& benchmarks, const std::vector<corpus::Leak>& leaks) {
  for (BenchmarkFacts& facts : benchmarks)
    if (std::ranges::any_of(leaks, [&](const corpus::Leak& leak) {
          return leak.relation == "benchmark" && leak.against == facts.benchmark.name;
        }))
      ++facts.found;
}

std::string benchmarks_in_words(const std::vector<BenchmarkFacts>& benchmarks) {
  std::vector<std::string> parts;
  for (const BenchmarkFacts& facts : benchmarks)
    parts.push_back(fmt::format("{} ({}, SHA-256 {}): {} it", facts.benchmark.name,
                                counted(facts.benchmark.texts, "text"), facts.benchmark.sha256.substr(0, 12),
                                counted(facts.found, "row resembles", "rows resemble")));
  return parts.empty() ? "not checked" : fmt::format("{}", fmt::join(parts, "; "));
}

namespace json = boost::json;

BOOST_DESCRIBE_STRUCT(DuplicateFacts, (),
                      (exact_units, renamed_units, near_units, clusters, largest_cluster, candidates,
                       verified, over, exact_rows))
BOOST_DESCRIBE_STRUCT(SplitFacts, (),
                      (train_families, validation_families, train_kernels, validation_kernels, largest_family,
                       functions, answers, train_left_out, answers_left_out, functions_leaked,
                       answers_leaked))

namespace {

// Names from archives and files may be no UTF-8, which JSON requires.
std::string clean(std::string_view text) {
  return to_utf8(text);
}

json::value clean_or_null(const std::string& text) {
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
  return {{"kind", to_string(origin.kind)},
          {"name", clean(origin.name)},
          {"version", clean_or_null(origin.version)},
          {"commit", clean_or_null(origin.commit)},
          {"sha256", clean_or_null(origin.sha256)},
          {"url", clean_or_null(origin.url)},
          {"stars", origin.stars ? json::value(*origin.stars) : json::value(nullptr)},
          {"files", to_json(facts.tally)},
          {"files_with_errors", facts.files_with_errors},
          {"units", to_json(facts.units)},
          {"licences", to_json(facts.licences)},
          {"licence_evidence", std::move(evidence)},
          {"licence_refused", to_json(facts.licence_refused)},
          {"hardware_refused", to_json(facts.hardware_refused)}};
}

json::object limits_json(const RowFacts& facts) {
  json::object limits;
  for (const auto& [limit, counts] : facts.limits)
    limits[std::to_string(limit)] = json::object{{"longer", counts.longer}, {"dropped", counts.dropped}};
  return limits;
}

json::object to_json(const RowFacts& facts) {
  return {{"count", facts.rows},
          {"kinds", to_json(facts.kinds)},
          {"holes", to_json(facts.nodes)},
          {"renderings", to_json(facts.renderings)},
          {"sources", to_json(facts.sources)},
          {"licences", to_json(facts.licences)},
          {"splits", to_json(facts.splits)},
          {"targets", to_json(facts.targets)},
          {"generators", to_json(facts.generators)},
          {"provenance", to_json(facts.provenance)},
          {"over_limit", limits_json(facts)},
          {"compile", to_json(facts.compile)},
          {"labels", to_json(facts.labels)},
          {"leaks", to_json(facts.leaks)},
          {"review", to_json(facts.review)},
          {"verdicts", to_json(facts.verdicts)},
          {"lengths", json::object{{"prompt_characters", to_json(facts.prompt_characters)},
                                   {"completion_characters", to_json(facts.completion_characters)},
                                   {"completion_tokens", to_json(facts.completion_tokens)},
                                   {"tokens", to_json(facts.tokens)}}}};
}

json::array to_json(const std::vector<BenchmarkFacts>& benchmarks) {
  json::array list;
  for (const BenchmarkFacts& facts : benchmarks)
    list.push_back(json::object{{"name", clean(facts.benchmark.name)},
                                {"sha256", facts.benchmark.sha256},
                                {"texts", facts.benchmark.texts},
                                {"rows_found", facts.found},
                                {"rows_written", facts.written}});
  return list;
}

json::object timing(const BuildSummary& facts) {
  json::array stages;
  for (const Stage& stage : facts.stages) {
    json::value rate = nullptr;  // 10^6 bytes per second
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

// The value with the keys of all objects sorted.
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

// The shortest exact form, without an exponent where possible: 0.8 instead of 8E-1.
std::string number_text(double value) {
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

void append_json(std::string& out, const json::value& value, std::size_t depth);

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

void append_json(std::string& out, const json::value& value, std::size_t depth) {
  if (const auto* object = value.if_object(); object && !object->empty()) {
    out += '{';
    append_members(out, *object, depth, [&](const json::key_value_pair& member) {
      out += json::serialize(member.key()) + ": ";
      append_json(out, member.value(), depth + 1);
    });
    out += '}';
  } else if (const auto* array = value.if_array(); array && !is_flat(*array)) {
    out += '[';
    append_members(out, *array, depth, [&](const json::value& each) { append_json(out, each, depth + 1); });
    out += ']';
  } else {
    out += value.is_double() ? number_text(value.get_double()) : json::serialize(value);
  }
}

}  // namespace

std::string readable(const json::value& value) {
  std::string out;
  append_json(out, value, 0);
  return out;
}

json::object to_json(const BuildSummary& facts) {
  json::array sources;
  for (const SourceFacts& source : facts.sources) sources.push_back(to_json(source));
  json::array warnings;
  for (const std::string& alarm : facts.alarms) warnings.emplace_back(clean(alarm));
  for (const std::string& warning : facts.warnings) warnings.emplace_back(clean(warning));
  json::object object{{"schema", "kernelwright.dataset_analysis/1"},
                      {"program", facts.program},
                      {"made_by", clean(facts.made_by)},
                      {"tokenizer", json::object{{"name", clean_or_null(facts.tokenizer)},
                                                 {"why_null", clean_or_null(facts.tokens_why_null)}}},
                      {"sources", std::move(sources)},
                      {"units", to_json(facts.units)},
                      {"targets", to_json(facts.targets)},
                      {"rows_left_out", to_json(facts.rows_left_out)},
                      {"kernels_without_rows", to_json(facts.kernels_without_rows)},
                      {"units_compile", to_json(facts.units_compile)},
                      {"compile_reasons", to_json(facts.compile_reasons)},
                      {"duplicates", struct_json::fields_of(facts.duplicates)},
                      {"split", struct_json::fields_of(facts.split)},
                      {"benchmarks", to_json(facts.benchmarks)},
                      {"pairs", json::object{{"cuda", facts.cuda_pairs},
                                             {"cuda_weak", facts.cuda_pairs_weak},
                                             {"torch", facts.torch_pairs}}},
                      {"rows", to_json(facts.rows)},
                      {"parameters", facts.parameters},
                      {"warnings", std::move(warnings)}};
  return sorted(object).as_object();
}

std::string analysis_json(const BuildSummary& facts) {
  return readable(to_json(facts)) + "\n";
}

std::string times_json(const BuildSummary& facts) {
  return readable(timing(facts)) + "\n";
}

}  // namespace kw::dataset
