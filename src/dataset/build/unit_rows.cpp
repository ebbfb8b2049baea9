#include "dataset/build/unit_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <chrono>
#include <expected>
#include <filesystem>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "base/core/counted.h"
#include "base/core/json.h"
#include "dataset/build/ordered.h"
#include "dataset/build/sources.h"
#include "dataset/labels/labels.h"
#include "dataset/licence/licence.h"
#include "dataset/pairs/pairs.h"
#include "dataset/units/row.h"
#include "loop/run_store/run_reader.h"
#include "loop/run_store/training_files.h"
#include "loop/run_store/training_rows.h"

namespace kw::dataset {
namespace {

constexpr std::size_t at_once = 2'048;
constexpr std::string_view no_such_name = "it uses a name that Triton's language does not have";

}  // namespace

Result<> compile_units(UnitStore& units, const std::vector<UnitFate>& fates, const BuildSettings& settings,
                       const Watch& watch, std::vector<Stage>& stages) {
  auto begin = std::chrono::steady_clock::now();
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < fates.size(); ++i)
    if (fates[i].fate == Fate::kept &&
        (settings.cuda_fim || units.cards()[i].kind == corpus::UnitKind::triton))
      numbers.push_back(i);
  Stage stage{"compile", 0, 0, numbers.size()};
  for (std::size_t first = 0; first < numbers.size(); first += at_once) {
    std::size_t last = std::min(numbers.size(), first + at_once);
    std::vector<corpus::Unit> batch;
    for (std::size_t i = first; i < last; ++i) {
      auto unit = units.at(numbers[i]);
      if (!unit) return std::unexpected(unit.error());
      unit->region.clear();
      stage.bytes += unit->text.size();
      batch.push_back(std::move(*unit));
    }
    labels::CompileOptions options = settings.labels;
    options.stop = watch.stop;
    if (watch.progress)
      options.progress = [&](std::size_t done, std::size_t) {
        watch.progress("compile", first + done, numbers.size());
      };
    auto labelled = labels::compile_labels(batch, options);
    if (!labelled) return std::unexpected(labelled.error());
    for (std::size_t i = first; i < last; ++i) {
      corpus::Labels& labels = units.cards()[numbers[i]].labels;
      corpus::Labels& found = (*labelled)[i - first];
      labels.compile = found.compile;
      labels.compile_reason = std::move(found.compile_reason);
      labels.compiled_for = std::move(found.compiled_for);
    }
  }
  stage.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  stages.push_back(stage);
  return {};
}

namespace {

using corpus::Row;
using corpus::Unit;
using corpus::UnitKind;

// Sets the fields of a row that depend on the unit's fate and group.
void mark(const UnitWorld& world, std::uint32_t number, Row& row) {
  const UnitFate& fate = world.fates[number];
  std::uint32_t kept = fate.fate == Fate::kept ? number : fate.kept_as;
  row.labels = world.units.cards()[number].labels;
  row.target = world.units.cards()[number].target;
  row.difficulty.autotune = row.labels.autotune;
  row.split = world.split.validation[kept] ? "validation" : "train";
  if (fate.fate != Fate::kept || fate.has_cluster) row.cluster = world.units.cards()[kept].id;
  if (auto leaks = world.split.leaks.find(kept); leaks != world.split.leaks.end())
    row.leakage.insert(row.leakage.end(), leaks->second.begin(), leaks->second.end());
}

std::vector<std::uint32_t> best_first(const UnitWorld& world, bool cuda_too) {
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < world.fates.size(); ++i)
    if (world.fates[i].fate == Fate::kept && (cuda_too || world.units.cards()[i].kind == UnitKind::triton))
      numbers.push_back(i);
  std::ranges::sort(numbers, {}, [&](std::uint32_t i) {
    const corpus::Labels& labels = world.units.cards()[i].labels;
    return std::tuple(!labels.self_contained, !labels.clear_argument_shapes, i);
  });
  return numbers;
}

// Whether the licences of the files that the launcher needs, and the kernel may not, are allowed.
bool may_show_launcher(const Unit& unit, const LicenceRule& rule) {
  return rule.any || std::ranges::all_of(unit.launcher.context_licences, [&](const std::string& spdx) {
           return licence::allowed(spdx, rule.allow);
         });
}

class PairMaker {
 public:
  PairMaker(const UnitWorld& world, const BuildSettings& settings, RowSink& sink)
      : world_(world), settings_(settings), sink_(sink) {}

  PairTally tally;

  Result<> add(const FoundPair& pair, bool cuda) {
    if (labels::lacks_language_name(world_.units.cards()[pair.to].labels)) {
      sink_.leave_out(fmt::format("pair: the rewrite: {}", no_such_name));
      return {};
    }
    auto from = world_.units.at(pair.from);
    if (!from) return std::unexpected(from.error());
    auto to = world_.units.at(pair.to);
    if (!to) return std::unexpected(to.error());
    auto row = make(*from, *to, {.from = 0, .to = 0, .evidence = pair.evidence});
    if (!row) {
      sink_.leave_out("pair: " + row.error());
      return {};
    }
    mark(world_, pair.to, *row);
    sink_.note_unit(world_.units.cards()[pair.to].id);
    ++(cuda ? tally.cuda : tally.torch);
    sink_.add(std::move(*row));
    return {};
  }

  // Pairs of one folder: written by hand, or judged.
  Result<> add_folder(const std::string& folder) {
    const std::filesystem::path judged = pairs::judged_pairs_file(folder);
    auto rows = judged.empty() ? pairs::hand_made_pairs(folder) : pairs::judged_pairs(judged);
    if (!rows) return std::unexpected(rows.error());
    corpus::Origin own;
    own.kind = corpus::OriginKind::pairs;
    own.name = pairs_name(folder);
    if (rows->empty()) facts_of(own);
    const corpus::Licence stated = settings_.licences.of(own.name);
    for (Row& row : *rows) {
      if (!pairs::parses(row)) {
        sink_.leave_out(fmt::format("pair: {} does not parse", row.source.path));
        continue;
      }
      if (row.licence.spdx.empty()) row.licence = stated;
      if (row.pair->other_licence.spdx.empty()) row.pair->other_licence = stated;
      if (!may_use(row)) continue;
      count_pair(row);
      ++(row.kind == corpus::RowKind::cu2triton ? tally.cuda : tally.torch);
      if (!judged.empty() && in_validation(row.source.path, settings_.seed, settings_.validation_share))
        row.split = "validation";
      sink_.add(std::move(row));
    }
    return {};
  }

 private:
  std::expected<Row, std::string> make(const Unit& from, const Unit& to, const pairs::Match& match) const {
    if (!may_show_launcher(to, settings_.licences))
      return std::unexpected("the launcher needs code under another licence");
    auto row = pairs::pair_row(from, to, match);
    if (!row) return row;
    row->generator = to.generator;
    row->provenance = from.provenance;
    row->provenance.insert(row->provenance.end(), to.provenance.begin(), to.provenance.end());
    return row;
  }

  SourceFacts& facts_of(const corpus::Origin& origin) {
    auto found = std::ranges::find_if(tally.sources,
                                      [&](const SourceFacts& each) { return is_same(each.origin, origin); });
    if (found != tally.sources.end()) return *found;
    tally.sources.emplace_back().origin = origin;
    return tally.sources.back();
  }

  // Whether the licences of both sides are allowed; counts a pair that is left out for one.
  bool may_use(const Row& row) {
    const std::array sides{std::pair(&row.source.origin, &row.licence),
                           std::pair(&row.pair->other.origin, &row.pair->other_licence)};
    for (const auto& [origin, licence] : sides) {
      if (settings_.licences.any || licence::allowed(licence->spdx, settings_.licences.allow)) continue;
      ++facts_of(*origin).licence_refused[licence->spdx.empty() ? "unknown" : licence->spdx];
      sink_.leave_out("pair: under a licence that is not allowed");
      return false;
    }
    return true;
  }

  // A pair has two files, each with its licence.
  void count_pair(const Row& row) {
    ++facts_of(row.source.origin).units["pair"];
    count_file(row.source, row.licence);
    count_file(row.pair->other, row.pair->other_licence);
  }

  // A file of a package may be in several pairs.
  void count_file(const corpus::Place& place, const corpus::Licence& licence) {
    SourceFacts& source = facts_of(place.origin);
    const bool is_new = files_.emplace(source_name(place.origin), place.path).second;
    if (place.origin.kind != corpus::OriginKind::pairs && !is_new) return;
    const std::uint64_t bytes = place.span.end - place.span.begin;
    ++source.tally.files_seen;
    ++source.tally.files_taken;
    source.tally.bytes_seen += bytes;
    source.tally.bytes_taken += bytes;
    dataset::add(source, licence);
  }

  const UnitWorld& world_;
  const BuildSettings& settings_;
  RowSink& sink_;
  std::set<std::pair<std::string, std::string>> files_;  // counted, by source and path
};

}  // namespace

namespace {

// How many kernels have each hole. A hole that many kernels have teaches little.
Result<pairs::Occurrences> count_holes(const UnitWorld& world, const std::vector<std::uint32_t>& numbers,
                                       const BuildSettings& settings) {
  using Keys = Result<std::vector<std::uint64_t>>;
  pairs::Occurrences occurrences;
  Result<> outcome;
  Ordered<std::uint32_t, Keys> pool(
      settings.threads,
      [&](std::uint32_t number) -> Keys {
        auto unit = world.units.at(number);
        if (!unit) return std::unexpected(unit.error());
        return pairs::hole_keys(*unit, settings.fim);
      },
      [&](Keys keys) {
        if (!keys) outcome = std::unexpected(keys.error());
        if (!keys) return;
        for (std::uint64_t key : *keys) ++occurrences[key];
      });
  for (std::uint32_t number : numbers) pool.push(number);
  pool.finish();
  if (!outcome) return std::unexpected(outcome.error());
  return occurrences;
}

// The rows of one unit, or why there are none.
struct MadeRows {
  std::uint32_t number = 0;
  std::string unit;
  pairs::FimRows fim;
};

class FimAdder {
 public:
  FimAdder(const BuildSettings& settings, RowSink& sink) : settings_(settings), sink_(sink) {}

  WithoutRows without;

  void add(MadeRows made) {
    std::string why = made.fim.left_out.empty() ? "no hole is worth a row" : made.fim.left_out.begin()->first;
    for (const auto& [reason, rows] : made.fim.left_out) sink_.leave_out(reason, rows);
    bool any = false;
    for (Row& row : made.fim.rows) {
      if (++equal_[pairs::hole_key(row.completion)] > settings_.most_equal_completions) {
        why = "other rows have the same completion";
        sink_.leave_out(why);
        continue;
      }
      any = true;
      sink_.add(std::move(row));
    }
    if (!any) without[made.number] = why;
  }

 private:
  const BuildSettings& settings_;
  RowSink& sink_;
  std::unordered_map<std::uint64_t, std::uint64_t> equal_;  // completions seen
};

}  // namespace

Result<WithoutRows> add_fim_rows(const UnitWorld& world, const BuildSettings& settings, const Watch& watch,
                                 RowSink& sink) {
  const auto numbers = best_first(world, settings.cuda_fim);
  auto occurrences = count_holes(world, numbers, settings);
  if (!occurrences) return std::unexpected(occurrences.error());
  using Made = Result<MadeRows>;
  Result<> outcome;
  FimAdder adder(settings, sink);
  Ordered<std::uint32_t, Made> pool(
      settings.threads,
      [&](std::uint32_t number) -> Made {
        auto unit = world.units.at(number);
        if (!unit) return std::unexpected(unit.error());
        if (!may_show_launcher(*unit, settings.licences)) unit->launcher = {};
        MadeRows made{number, unit->id, pairs::fim_rows(*unit, settings.fim, *occurrences)};
        if (labels::lacks_language_name(world.units.cards()[number].labels)) {
          made.fim.left_out = {{std::string(no_such_name), made.fim.rows.size()}};
          made.fim.rows.clear();
        }
        for (Row& row : made.fim.rows) {
          mark(world, number, row);
          row.generator = unit->generator;
          row.provenance = unit->provenance;
        }
        return made;
      },
      [&](Made made) {
        if (!made) outcome = std::unexpected(made.error());
        if (made) adder.add(std::move(*made));
      });
  std::uint64_t done = 0;
  for (std::uint32_t number : numbers) {
    if (watch.stop && watch.stop()) return fail("interrupted");
    if (watch.progress) watch.progress("rows", ++done, numbers.size());
    pool.push(number);
  }
  pool.finish();
  if (!outcome) return std::unexpected(outcome.error());
  return std::move(adder.without);
}

Result<PairTally> add_pair_rows(const UnitWorld& world, const FoundPairs& pairs,
                                const std::vector<std::string>& hand_made, const BuildSettings& settings,
                                RowSink& sink) {
  PairMaker maker(world, settings, sink);
  for (const FoundPair& pair : pairs.cuda)
    if (auto added = maker.add(pair, true); !added) return std::unexpected(added.error());
  for (const std::string& folder : hand_made)
    if (auto added = maker.add_folder(folder); !added) return std::unexpected(added.error());
  for (const FoundPair& pair : pairs.torch)
    if (auto added = maker.add(pair, false); !added) return std::unexpected(added.error());
  return maker.tally;
}

namespace {

namespace json = boost::json;

// The concatenated contents of a list of messages.
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
  return rule.of(run);
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
  // All answers to one task are in the same split.
  if (in_validation(row.source.path, settings.seed, settings.validation_share)) row.split = "validation";
  return row;
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

Result<> add_run(const std::string& path, const BuildSettings& settings, RowSink& sink, BuildSummary& facts) {
  auto reader = store::open_run(path);
  if (!reader) return std::unexpected(reader.error());
  SourceFacts source;
  source.origin.kind = corpus::OriginKind::run;
  source.origin.name = run_name(path);
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
      dataset::add(source, row.licence);
      ++source.units["trace"];
      sink.add(std::move(row));
    }
  }
  source.tally.files_taken = tally.traces;
  for (const auto& [why, count] : tally.left_out) source.tally.skipped[why] += count;
  if (tally.benchmarks > 0) source.tally.skipped["a task of a benchmark"] += tally.benchmarks;
  if (source.units.empty())
    facts.warnings.push_back(fmt::format("{}: no answer became a row; of {}, left out: {}",
                                         source.origin.name, counted(source.tally.files_seen, "trace"),
                                         why_none(tally, source)));
  facts.sources.push_back(std::move(source));
  return {};
}

}  // namespace

Result<> add_trace_rows(const std::vector<std::string>& runs, const BuildSettings& settings, RowSink& sink,
                        BuildSummary& facts) {
  for (const std::string& run : runs)
    if (auto added = add_run(run, settings, sink, facts); !added) return added;
  return {};
}

}  // namespace kw::dataset
