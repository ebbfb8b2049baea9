#include "dataset/build/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <map>
#include <set>
#include <string>
#include <unordered_set>

#include "base/core/counted.h"
#include "base/core/files.h"
#include "base/core/text.h"
#include "dataset/build/build_summary.h"
#include "dataset/build/found_pairs.h"
#include "dataset/build/originals.h"
#include "dataset/build/sources.h"
#include "dataset/build/split.h"
#include "dataset/build/split_check.h"
#include "dataset/build/unit_rows.h"
#include "dataset/build/write.h"
#include "dataset/licence/licence.h"

namespace kw::dataset {
namespace {

namespace fs = std::filesystem;
using corpus::UnitKind;

class Build {
 public:
  Build(const BuildSettings& settings, const Watch& watch) : settings_(settings), watch_(watch) {}

  Result<BuildSummary> run() {
    facts_.program = settings_.program;
    facts_.parameters = settings_.parameters;
    facts_.made_by = settings_.made_by;
    for (auto step : {&Build::prepare, &Build::gather_all, &Build::read_units, &Build::drop_duplicates,
                      &Build::split, &Build::make_rows, &Build::check_split, &Build::count, &Build::write})
      if (auto done = (this->*step)(); !done) return std::unexpected(done.error());
    return std::move(facts_);
  }

 private:
  Result<> prepare() {
    std::error_code error;
    fs::create_directories(settings_.state, error);
    if (error) return fail(fmt::format("cannot make {}: {}", settings_.state.string(), error.message()));
    staging_.emplace(settings_.out);
    if (auto made = staging_->make(); !made) return made;
    auto review = Review::open(settings_.review.string());
    if (!review) return std::unexpected(review.error());
    review_.emplace(std::move(*review));
    std::vector<leak::Reference> references;
    for (const std::string& path : settings_.against) {
      auto found = leak::open_references(path, settings_.python.parquet());
      if (!found) return std::unexpected(found.error());
      references.insert(references.end(), found->begin(), found->end());
    }
    facts_.benchmarks = compared(references);
    declare(facts_.benchmarks);
    benchmarks_.emplace(std::move(references), settings_.leak);
    auto sources = find_sources(settings_, watch_);
    if (!sources) return std::unexpected(sources.error());
    sources_ = std::move(*sources);
    facts_.pinned = sources_.pinned;
    if (sources_.trees.empty() && sources_.runs.empty() && sources_.pairs.empty()) return no_source();
    return {};
  }

  // The benchmarks are an input of the build: the rows that are flagged and held depend on their texts.
  void declare(const std::vector<BenchmarkFacts>& benchmarks) {
    boost::json::object hashes;
    for (const BenchmarkFacts& each : benchmarks) {
      hashes[to_utf8(each.benchmark.name)] = each.benchmark.sha256;
      facts_.made_by +=
          fmt::format(" --against {}@{}", each.benchmark.name, each.benchmark.sha256.substr(0, 12));
    }
    facts_.parameters["benchmarks"] =
        hashes.empty() ? boost::json::value("not checked") : boost::json::value(std::move(hashes));
  }

  Result<> gather_all() {
    Stage read{"collect and parse", 0, 0, 0};
    Stage link{"link", 0, 0, 0};
    for (const std::string& path : sources_.trees) {
      auto gathered = gather(path, settings_, watch_);
      if (!gathered) return std::unexpected(gathered.error());
      state_licence(gathered->facts, settings_.licences.of(gathered->name));
      for (const auto& [kind, count] : gathered->facts.units) facts_.units[kind] += count;
      read.seconds += gathered->collect_seconds;
      link.seconds += gathered->link_seconds;
      if (!gathered->facts.from_state) {
        read.bytes += gathered->facts.tally.bytes_seen;
        read.items += gathered->facts.tally.files_seen;
        link.bytes += gathered->facts.tally.bytes_taken;
      }
      gathered_.push_back(std::move(*gathered));
    }
    facts_.stages.insert(facts_.stages.end(), {read, link});
    return {};
  }

  bool is_allowed(const std::string& spdx) const {
    return settings_.licences.any || licence::allowed(spdx, settings_.licences.allow);
  }

  // Checks the unit's licence, and that of every file from which its context was taken.
  bool may_be_used(const corpus::Unit& unit) const {
    return is_allowed(unit.licence.spdx) &&
           std::ranges::all_of(unit.context_licences,
                               [&](const std::string& spdx) { return is_allowed(spdx); });
  }

  bool is_wanted(const UnitCard& card) const { return settings_.hardware.contains(card.target); }

  // A refused unit with an allowed licence needs code under other licences.
  std::string refusal(const UnitCard& card) const {
    if (is_allowed(card.spdx)) return "needs code under another licence";
    return card.spdx.empty() ? "unknown" : card.spdx;
  }

  Result<> read_units() {
    StageClock clock(facts_.stages, "read units");
    for (std::uint32_t i = 0; i < gathered_.size(); ++i) {
      auto added = units_.add(
          gathered_[i].files.units, i, settings_.licences.of(gathered_[i].name),
          [this](const corpus::Unit& unit, const UnitCard& card) {
            return is_wanted(card) && may_be_used(unit);
          },
          settings_.threads);
      if (!added) return added;
      SourceFacts& source = gathered_[i].facts;
      auto [first, last] = units_.of_source(i);
      for (std::size_t k = first; k < last; ++k) {
        const UnitCard& card = units_.cards()[k];
        if (card.kind != UnitKind::torch) ++facts_.targets[std::string(to_string(card.target))];
        if (!is_wanted(card))
          ++source.hardware_refused[std::string(to_string(card.target))];
        else if (!card.allowed)
          ++source.licence_refused[refusal(card)];
      }
      facts_.sources.push_back(source);
    }
    clock.items() = units_.cards().size();
    find_originals(units_.cards());
    return {};
  }

  Result<> drop_duplicates() {
    {
      StageClock clock(facts_.stages, "equal units");
      fates_ = drop_equal(
          units_, [](const UnitCard& card) { return card.allowed && card.kind != UnitKind::torch; },
          facts_.duplicates);
      clock.items() = fates_.size();
    }
    if (settings_.compile) {
      auto labelled = compile_units(units_, fates_, settings_, watch_, facts_.stages);
      if (!labelled) return labelled;
    }
    auto dropped = drop_near(units_, fates_, settings_, watch_, facts_.duplicates, facts_.stages);
    if (!dropped) return dropped;
    for (std::size_t i = 0; i < fates_.size(); ++i)
      if (fates_[i].fate == Fate::kept && units_.cards()[i].kind == UnitKind::triton)
        note_compile(units_.cards()[i].labels);
    return {};
  }

  void note_compile(const corpus::Labels& labels) {
    ++facts_.units_compile[std::string(to_string(labels.compile))];
    if (labels.compile != corpus::CompileLabel::compilable && !labels.compile_reason.empty())
      ++facts_.compile_reasons[labels.compile_reason.substr(0, 80)];
  }

  Result<> split() {
    StageClock clock(facts_.stages, "pairs and split");
    auto pairs = find_pairs(units_, fates_, static_cast<std::uint32_t>(gathered_.size()), settings_);
    if (!pairs) return std::unexpected(pairs.error());
    pairs_ = std::move(*pairs);
    auto split = split_units(units_, fates_, pairs_, settings_, watch_, facts_.split);
    if (!split) return std::unexpected(split.error());
    split_ = std::move(*split);
    return {};
  }

  Result<> make_rows() {
    StageClock clock(facts_.stages, "rows and leakage");
    rows_ = settings_.state / "rows.jsonl";
    auto file = JsonlWriter::create(rows_);
    if (!file) return std::unexpected(file.error());
    RowSink sink(settings_, *review_, *benchmarks_, std::move(*file));
    UnitWorld world{units_, fates_, split_};
    auto fim = add_fim_rows(world, settings_, watch_, sink);
    if (!fim) return std::unexpected(fim.error());
    without_rows_ = std::move(*fim);
    auto pairs = add_pair_rows(world, pairs_, sources_.pairs, settings_, sink);
    if (!pairs) return std::unexpected(pairs.error());
    facts_.cuda_pairs = pairs->cuda;
    facts_.cuda_pairs_weak = pairs_.cuda_weak;
    facts_.torch_pairs = pairs->torch;
    // A package may be a source of the build and of its pairs.
    for (SourceFacts& source : pairs->sources)
      if (std::ranges::none_of(facts_.sources,
                               [&](const SourceFacts& each) { return is_same(each.origin, source.origin); }))
        facts_.sources.push_back(std::move(source));
    if (auto added = add_trace_rows(sources_.runs, settings_, sink, facts_); !added) return added;
    if (auto done = sink.finish(); !done) return done;
    with_rows_ = sink.units();
    facts_.rows_left_out = sink.left_out();
    facts_.duplicates.exact_rows = sink.exact();
    facts_.rows.review = sink.reviewed();
    for (const Flagged& flagged : sink.flagged()) add_found(facts_.benchmarks, flagged.leaks);
    if (sink.held() > 0)
      facts_.warnings.push_back(fmt::format("{} a benchmark and {} a decision in review.csv",
                                            counted(sink.held(), "row resembles", "rows resemble"),
                                            sink.held() == 1 ? "needs" : "need"));
    clock.bytes() = sink.bytes();
    return review_->write(sink.flagged(), staging_->folder() / "review.csv");
  }

  Result<> check_split() {
    StageClock clock(facts_.stages, "check of the split");
    auto functions = validation_functions(units_, split_);
    if (!functions) return std::unexpected(functions.error());
    SplitFacts& split = facts_.split;
    auto lost = keep_validation_apart(rows_, *functions, settings_.threads, split);
    if (!lost) return std::unexpected(lost.error());
    lost_to_split_ = std::move(*lost);
    if (split.functions_leaked + split.answers_leaked > 0)
      facts_.alarms.push_back(fmt::format(
          "the validation split leaks: {} of its functions and {} of its answers are in training rows",
          split.functions_leaked, split.answers_leaked));
    return {};
  }

  Result<> count() {
    if (!settings_.count_tokens) {
      facts_.tokens_why_null = "not asked for";
      return {};
    }
    StageClock clock(facts_.stages, "tokens");
    if (watch_.progress) watch_.progress("tokens", 0, 0);
    auto counted = count_tokens(settings_.python, rows_, settings_.state / "tokens.txt", settings_.tokenizer,
                                staging_->folder() / "tokenizer.json");
    if (counted) {
      facts_.tokenizer = counted->tokenizer;
      counts_ = counted->file;
    } else {
      facts_.tokens_why_null = counted.error().what;
      facts_.warnings.push_back("tokens were not counted: " + counted.error().what);
    }
    return {};
  }

  Result<> write() {
    auto configs = write_files();
    if (!configs) return std::unexpected(configs.error());
    for (BenchmarkFacts& each : facts_.benchmarks)
      if (auto leaks = facts_.rows.leaks.find("benchmark " + each.benchmark.name);
          leaks != facts_.rows.leaks.end())
        each.written = leaks->second;
    const fs::path& folder = staging_->folder();
    if (auto w = write_file(folder / "ANALYSIS.json", analysis_json(facts_)); !w) return w;
    if (settings_.figures) {
      if (watch_.progress) watch_.progress("figures", 0, 0);
      auto drawn = draw_figures(settings_.python, folder / "ANALYSIS.json", folder / "figs");
      facts_.has_figures = drawn.has_value();
      if (!drawn) facts_.warnings.push_back("figures were not drawn: " + drawn.error().what);
    }
    if (auto w = write_file(folder / "ANALYSIS.json", analysis_json(facts_)); !w) return w;
    if (auto w = write_file(folder / "ANALYSIS.md", analysis_markdown(facts_)); !w) return w;
    if (auto w = write_file(folder / "PROVENANCE.md", provenance_markdown(facts_)); !w) return w;
    if (auto w = write_file(folder / "README.md", card(facts_, *configs)); !w) return w;
    if (watch_.stop && watch_.stop()) return fail("interrupted");
    if (auto published = staging_->publish(); !published) return published;
    if (auto kept = remember(sources_, settings_); !kept) return kept;
    if (auto w = write_file(settings_.state / "times.json", times_json(facts_)); !w) return w;
    if (settings_.push_to.empty()) return {};
    return push_to_hub(settings_.python, settings_.out, settings_.push_to, settings_.push_private);
  }

  Result<std::vector<CardConfig>> write_files() {
    StageClock clock(facts_.stages, "write");
    if (watch_.progress) watch_.progress("write", 0, 0);
    if (auto w = write_left_out(units_, fates_, staging_->folder()); !w) return std::unexpected(w.error());
    if (auto w = write_skipped(); !w) return std::unexpected(w.error());
    return write_rows(rows_, counts_, settings_, staging_->folder(), facts_);
  }

  // Files that were not read, then kernels without a row.
  Result<> write_skipped() {
    auto all = NewFile::create(staging_->folder() / "skipped.jsonl");
    if (!all) return std::unexpected(all.error());
    for (const Gathered& gathered : gathered_) {
      auto copied = each_line(gathered.files.skipped, [&](const std::string& line, std::uint64_t) {
        return all->write(line + "\n");
      });
      if (!copied) return copied;
    }
    for (std::uint32_t i = 0; i < fates_.size(); ++i) {
      auto line = kernel_without_row(i);
      if (!line) return std::unexpected(line.error());
      if (line->empty()) continue;
      if (auto written = all->write(*line); !written) return written;
    }
    return all->finish();
  }

  // A line of skipped.jsonl; empty for a unit with a row, for a duplicate, and for what is in left_out.jsonl.
  Result<std::string> kernel_without_row(std::uint32_t number) {
    const UnitCard& card = units_.cards()[number];
    const bool kernel = card.kind == UnitKind::triton || card.kind == UnitKind::cuda_kernel;
    const bool lost = lost_to_split_.contains(card.id);
    if (!kernel || fates_[number].fate != Fate::kept || (with_rows_.contains(card.id) && !lost)) return {};
    auto unit = units_.at(number);
    if (!unit) return std::unexpected(unit.error());
    auto why = without_rows_.find(number);
    std::string detail = "no pair of it, and no --cuda-fim";
    if (why != without_rows_.end()) detail = why->second;
    if (lost) detail = "its rows have code of the other split";
    ++facts_.kernels_without_rows[detail];
    return boost::json::serialize(boost::json::object{{"origin", unit->source.origin.name},
                                                      {"path", unit->source.path},
                                                      {"reason", "kernel without a row"},
                                                      {"detail", card.name + ": " + detail}}) +
           "\n";
  }

  const BuildSettings& settings_;
  const Watch& watch_;
  BuildSummary facts_;
  std::optional<Staging> staging_;
  std::optional<Review> review_;
  std::optional<leak::Index> benchmarks_;
  Sources sources_;
  std::vector<Gathered> gathered_;
  UnitStore units_;
  std::vector<UnitFate> fates_;
  FoundPairs pairs_;
  UnitSplit split_;
  std::map<std::uint32_t, std::string> without_rows_;  // units, with the reason
  std::unordered_set<std::string> with_rows_;          // ids of units
  std::set<std::string> lost_to_split_;                // of these, without a row after the check
  fs::path rows_;
  fs::path counts_;
};

}  // namespace

std::unexpected<Error> no_source() {
  return fail("no source was given",
              "name a folder, an archive or a run, or --pypi NAME or --git URL; "
              "`kernelwright dataset discover` lists sources");
}

Result<BuildSummary> build(const BuildSettings& settings, const Watch& watch) {
  if (auto may = check_output(settings); !may) return std::unexpected(may.error());
  auto lock = StateLock::take(settings.state);
  if (!lock) return std::unexpected(lock.error());
  return Build(settings, watch).run();
}

}  // namespace kw::dataset
