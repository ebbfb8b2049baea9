#include "dataset.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "base/core/counted.h"
#include "base/core/display.h"
#include "base/core/text.h"
#include "dataset/build/reports.h"
#include "dataset_discover.h"
#include "dataset_host.h"
#include "dataset_output.h"
#include "dataset_synth.h"
#include "session.h"

namespace kw::app {
namespace {

namespace fs = std::filesystem;

int ended_early(const Error& error) {
  end_progress();
  if (interrupted()) {
    fmt::print(stderr,
               "interrupted: the output folder is unchanged; the same command continues from the cache\n");
    return exit_interrupted;
  }
  complain(error);
  return exit_failure;
}

// The parts that write temporary files know their folder, and not what decides on it.
int ended_early(Error error, const ScratchFolder& scratch, const std::string& out) {
  if (error.what.contains(errno_text(ENOSPC)))
    error.remedy = fmt::format(
        "temporary files lie in {}: free some space there, or {}", scratch.path().parent_path().string(),
        out.empty() ? "set TMPDIR to another folder" : "name a place on another disk with --output");
  return ended_early(error);
}

int wrong_words(const Error& error) {
  complain(error);
  return exit_usage;
}

Result<> check_no_folder(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return {};
  return fail(fmt::format("{} is a folder, and a file of rows is expected", path),
              fmt::format("name its file of rows, as in {}", (fs::path(path) / "fim.jsonl").string()));
}

bool is_parquet(const std::string& path) {
  return fs::path(path).extension() == ".parquet";
}

bool any_parquet(const std::vector<std::string>& paths) {
  return std::ranges::any_of(paths, is_parquet);
}

// Large files spill next to the output, which needs the space anyway.
Result<ScratchFolder> scratch_beside(const std::string& out) {
  fs::path parent = out.empty() ? fs::path() : fs::absolute(out).parent_path();
  if (!parent.empty()) {
    std::error_code error;
    fs::create_directories(parent, error);
  }
  return ScratchFolder::make(parent);
}

// Named with -q too: a row that is left out must not pass unnoticed.
void tell_bad_rows(std::uint64_t count, const std::vector<std::string>& first) {
  if (count == 0) return;
  fmt::print(stderr, "warning: {} could not be read and {} left out\n", counted(count, "row"),
             count == 1 ? "is" : "are");
  for (const std::string& bad : first) fmt::print(stderr, "  {}\n", for_log(bad));
  if (count > first.size()) fmt::print(stderr, "  and {} more\n", count - first.size());
}

Result<> check_sources(const DatasetBuildFlags& flags) {
  if (!flags.add_to && flags.sources.empty() && flags.packages.empty() && flags.repositories.empty() &&
      flags.pairs.empty())
    return dataset::no_source();
  std::error_code ignored;
  for (const std::string& path : flags.sources) {
    static constexpr std::string_view code[] = {".py", ".cu", ".cuh", ".cpp", ".h", ".ipynb", ".md", ".rst"};
    if (std::ranges::find(code, fs::path(path).extension().string()) == std::end(code) ||
        !fs::is_regular_file(path, ignored))
      continue;
    const fs::path folder = fs::absolute(path, ignored).parent_path();
    return fail(fmt::format("{} is one source file, and a build reads folders and archives", path),
                fmt::format("name its folder: {}", folder.string()));
  }
  return {};
}

// Nothing is wrong with a build without rows, but its reader expects some.
void warn_of_no_rows(const dataset::BuildSummary& facts) {
  if (facts.rows.rows > 0) return;
  const bool licence = std::ranges::any_of(
      facts.sources, [](const dataset::SourceFacts& source) { return !source.licence_refused.empty(); });
  const char* remedy = "skipped.jsonl and left_out.jsonl in the output have the reasons";
  if (licence)
    remedy =
        "code was left out for its licence: state it with --licence-of FOLDER=ID, as in mycode=MIT; "
        "left_out.jsonl has the list";
  fmt::print(stderr, "warning: the dataset has no rows\n  -> {}\n", remedy);
}

int build(const DatasetBuildFlags& flags) {
  if (auto good = check_sources(flags); !good) return wrong_words(good.error());
  auto host = dataset_host(flags.machine, true);
  if (!host) return ended_early(host.error());
  auto settings = build_settings(flags, *host);
  if (!settings) {
    complain(settings.error());
    return exit_usage;
  }
  if (auto checked = dataset::check_stated_licences(*settings); !checked) {
    complain(checked.error());
    return exit_usage;
  }
  auto facts = dataset::build(*settings, watch_of(flags.machine.quiet));
  if (!facts) return ended_early(facts.error());
  end_progress();
  if (!flags.machine.quiet) report(*facts, settings->out);
  warn_of_no_rows(*facts);
  return 0;
}

int dedup(const DatasetDedupFlags& flags) {
  if (auto good = check_row_extension(flags.out); !good) return wrong_words(good.error());
  if (auto may = check_written(flags); !may) return failed(may.error());
  bool parquet = is_parquet(flags.out) || any_parquet(flags.files) || any_parquet(flags.against);
  auto host = dataset_host(flags.machine, parquet);
  if (!host) return ended_early(host.error());
  auto scratch = scratch_beside(flags.out);
  if (!scratch) return ended_early(scratch.error());
  auto settings = dedup_settings(flags, *host, scratch->path());
  settings.out = scratch->path() / fs::path(flags.out).filename();
  settings.evidence = evidence_beside(settings.out);
  auto tally = dataset::dedup(settings, watch_of(flags.machine.quiet));
  if (!tally) return ended_early(tally.error(), *scratch, flags.out);
  end_progress();
  // The list of duplicates is moved last: until then, an earlier one tells whose the earlier rows are.
  const fs::path made = std::exchange(settings.out, flags.out);
  if (auto done = publish_rows(made, flags.out); !done) return failed(done.error());
  std::error_code error;
  fs::rename(settings.evidence, evidence_beside(flags.out), error);
  if (error)
    return failed(
        {fmt::format("cannot move {} into place: {}", evidence_beside(flags.out).string(), error.message()),
         ""});
  tell_bad_rows(tally->bad_rows, tally->bad);
  if (!flags.machine.quiet) report(*tally, settings);
  return 0;
}

int audit(const DatasetAuditFlags& flags) {
  for (const auto& files : {flags.files, flags.validation})
    for (const std::string& file : files)
      if (auto rows = check_no_folder(file); !rows) return failed(rows.error());
  if (auto may = check_written(flags); !may) return failed(may.error());
  auto host = dataset_host(flags.machine, any_parquet(flags.files) || any_parquet(flags.leak.against));
  if (!host) return ended_early(host.error());
  auto scratch = scratch_beside(flags.out);
  if (!scratch) return ended_early(scratch.error());
  auto settings = audit_settings(flags, *host, scratch->path());
  auto tally = dataset::audit(settings, watch_of(flags.machine.quiet));
  if (!tally) return ended_early(tally.error(), *scratch, flags.out);
  end_progress();
  tell_bad_rows(tally->bad_rows, tally->bad);
  if (!flags.machine.quiet) report(*tally, settings);
  auto leaked = tally->relations.find("benchmark");
  return flags.fail_on_leak && leaked != tally->relations.end() ? exit_failure : 0;
}

int export_rows(const DatasetExportFlags& flags) {
  if (auto good = check_row_extension(flags.out); !good) return wrong_words(good.error());
  if (auto may = check_written(flags); !may) return failed(may.error());
  auto host = dataset_host(flags.machine, is_parquet(flags.out) || is_parquet(flags.source));
  if (!host) return ended_early(host.error());
  auto scratch = scratch_beside(flags.out);
  if (!scratch) return ended_early(scratch.error());
  auto settings = export_settings(flags, *host, scratch->path());
  auto reviews = flags.review.read(flags.source);
  if (!reviews) return ended_early(reviews.error());
  settings.reviews = std::move(*reviews);
  settings.out = scratch->path() / fs::path(flags.out).filename();
  auto tally = dataset::export_rows(settings);
  if (!tally) return ended_early(tally.error(), *scratch, flags.out);
  if (auto done = publish_rows(settings.out, flags.out); !done) return failed(done.error());
  tell_bad_rows(tally->bad_rows, tally->bad);
  if (!flags.machine.quiet)
    fmt::print("{} of {} written to {}\n", tally->written, counted(tally->rows, "row"), flags.out);
  return 0;
}

}  // namespace

void DatasetFlags::add(CLI::App& app) {
  app.require_subcommand(1);
  discover.add(*app.add_subcommand("discover", "List packages and repositories with kernels to build from"));
  build.add(*app.add_subcommand("build", "Make a dataset from package trees, checkouts and runs"));
  synth.add(*app.add_subcommand("synth", "Make verified pairs of PyTorch or CUDA with Triton"));
  dedup.add(*app.add_subcommand("dedup", "Remove exact and near duplicates from files of rows"));
  audit.add(*app.add_subcommand("audit", "Flag rows that resemble a benchmark, each other, or themselves"));
  export_rows.add(*app.add_subcommand("export", "Convert rows of a build or a file to another format"));
}

int dataset(const DatasetFlags& flags, const CLI::App& verb) {
  if (verb.got_subcommand("discover")) return dataset_discover(flags.discover);
  if (verb.got_subcommand("synth")) return dataset_synth(flags.synth);
  heed_interrupts();
  if (verb.got_subcommand("build")) return build(flags.build);
  if (verb.got_subcommand("dedup")) return dedup(flags.dedup);
  if (verb.got_subcommand("audit")) return audit(flags.audit);
  return export_rows(flags.export_rows);
}

namespace {

constexpr std::size_t flags_shown = 10;

std::string in_words(const dataset::Counts& counts) {
  std::vector<std::pair<std::string, std::uint64_t>> all(counts.begin(), counts.end());
  std::ranges::sort(all, {}, [](const auto& each) { return std::pair(~each.second, each.first); });
  std::string text;
  for (const auto& [name, count] : all) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
  return text.empty() ? "none" : text;
}

double mebibytes_a_second(const dataset::Stage& stage) {
  return stage.seconds > 0 ? static_cast<double>(stage.bytes) / stage.seconds / 1e6 : 0;
}

void print_stages(const std::vector<dataset::Stage>& stages) {
  for (const dataset::Stage& stage : stages) {
    fmt::print("  {:<18} {:8.1f} s", stage.name, stage.seconds);
    if (stage.bytes > 0) fmt::print("  {:8.1f} MB/s", mebibytes_a_second(stage));
    fmt::print("\n");
  }
}

void print_split(const dataset::SplitFacts& split) {
  fmt::print("split: {} for training, {} for validation, in families of up to {}\n",
             counted(split.train_kernels, "kernel"), split.validation_kernels, split.largest_family);
  if (split.functions + split.answers == 0) return;
  fmt::print("validation code in training rows: {} of {}, {} of {}\n", split.functions_leaked,
             counted(split.functions, "function"), split.answers_leaked,
             counted(split.answers, "long answer"));
}

void print_alarm(const std::string& alarm) {
  const std::string text = fmt::format("ALARM: {}", alarm);
  fmt::print(stderr, "{}\n", ::isatty(STDERR_FILENO) == 1 ? fmt::format("\033[1;31m{}\033[0m", text) : text);
}

std::string key_of(const corpus::Leak& leak) {
  return leak.relation + " " + leak.against;
}

// How much a flag matters; the smallest first.
std::size_t gravity(const corpus::Leak& leak) {
  static constexpr std::array<std::string_view, 3> gravest{"benchmark", "split", "prompt_completion"};
  return static_cast<std::size_t>(std::ranges::find(gravest, leak.relation) - gravest.begin());
}

const corpus::Leak& gravest_of(const dataset::Flagged& flagged) {
  return *std::ranges::min_element(flagged.leaks, {}, gravity);
}

// The rows with their gravest flags, in the order of gravity.
std::vector<const dataset::Flagged*> gravest_first(const std::vector<dataset::Flagged>& flags) {
  std::vector<const dataset::Flagged*> rows;
  for (const dataset::Flagged& flagged : flags) rows.push_back(&flagged);
  std::ranges::sort(rows, {},
                    [](const dataset::Flagged* each) { return std::pair(gravity(gravest_of(*each)), each); });
  return rows;
}

dataset::Counts rows_by_flag(const std::vector<dataset::Flagged>& flags) {
  dataset::Counts counts;
  for (const dataset::Flagged& flagged : flags) {
    std::set<std::string> words;
    for (const corpus::Leak& leak : flagged.leaks) words.insert(dataset::flag_in_words(key_of(leak)));
    for (const std::string& each : words) ++counts[each];
  }
  return counts;
}

std::string describe(const corpus::Leak& leak) {
  std::string text = dataset::flag_in_words(key_of(leak));
  if (!leak.row.empty()) text += ": " + leak.row;
  if (leak.jaccard > 0) text += fmt::format(", words {:.2f}", leak.jaccard);
  if (leak.containment > 0) text += fmt::format(", contains {:.2f}", leak.containment);
  return text + (leak.renamed ? ", renamed" : "");
}

}  // namespace

void report(const dataset::BuildSummary& facts, const std::filesystem::path& out) {
  const dataset::DuplicateFacts& duplicates = facts.duplicates;
  fmt::print("{} in {}: {}\n", counted(facts.rows.rows, "row"), out.string(), in_words(facts.rows.kinds));
  fmt::print("units: {}\n", in_words(facts.units));
  dataset::Counts refused;
  dataset::Counts hardware;
  for (const dataset::SourceFacts& source : facts.sources) {
    for (const auto& [licence, count] : source.licence_refused) refused[licence] += count;
    for (const auto& [target, count] : source.hardware_refused) hardware[target] += count;
  }
  fmt::print("left out for their licence: {}\n", in_words(refused));
  fmt::print("left out for their hardware: {}\n", in_words(hardware));
  fmt::print("rows left out: {}\n", in_words(facts.rows_left_out));
  fmt::print("duplicates: {} equal, {} equal but for names, {} near ones in {}, {}\n", duplicates.exact_units,
             duplicates.renamed_units, duplicates.near_units, counted(duplicates.clusters, "cluster"),
             counted(duplicates.exact_rows, "equal row"));
  fmt::print("pairs of CUDA and Triton: {} ({} more are too uncertain)\n", facts.cuda_pairs,
             facts.cuda_pairs_weak);
  fmt::print("kernels kept: {}\n", in_words(facts.units_compile));
  fmt::print("flagged rows: {}\n", in_words(facts.rows.leaks));
  fmt::print("benchmarks: {}\n", dataset::benchmarks_in_words(facts.benchmarks));
  print_split(facts.split);
  print_stages(facts.stages);
  for (const std::string& pinned : facts.pinned) fmt::print(stderr, "pinned: --git {}\n", pinned);
  for (const std::string& alarm : facts.alarms) print_alarm(alarm);
  for (const std::string& warning : facts.warnings) fmt::print(stderr, "warning: {}\n", warning);
}

void report(const dataset::DedupTally& tally, const dataset::DedupSettings& settings) {
  fmt::print("{} of {} kept in {}; dropped as duplicates of {}: {} exact, {} renamed, {} near\n", tally.kept,
             counted(tally.rows, "row"), settings.out.string(), counted(tally.clusters, "kept row"),
             tally.exact, tally.renamed, tally.near);
  if (tally.rows_against > 0)
    fmt::print("compared with {} of --against\n", counted(tally.rows_against, "row"));
  if (tally.bytes > tally.sketched_bytes)
    fmt::print("{:.1f} of {:.1f} MB had been sketched before\n",
               static_cast<double>(tally.bytes - tally.sketched_bytes) / 1e6,
               static_cast<double>(tally.bytes) / 1e6);
  fmt::print("candidate pairs: {}, verified {}, over the threshold {}, passed over in full buckets {}\n",
             tally.join.candidates, tally.join.verified, tally.join.over, tally.join.bounded);
  if (tally.join.over > 0) fmt::print("a near duplicate also has a completion over the threshold\n");
  print_stages(tally.stages);
}

void report(const dataset::AuditTally& tally, const dataset::AuditSettings& settings) {
  fmt::print("{} of {} flagged ({:.1f} s): {}\n", tally.flagged, counted(tally.rows, "row"), tally.seconds,
             in_words(rows_by_flag(tally.flags)));
  fmt::print("benchmarks: {}\n", dataset::benchmarks_in_words(tally.benchmarks));
  const auto gravest = gravest_first(tally.flags);
  for (std::size_t i = 0; i < std::min(flags_shown, gravest.size()); ++i)
    fmt::print("  {}: {}\n", gravest[i]->source, describe(gravest_of(*gravest[i])));
  if (tally.flags.size() > flags_shown) fmt::print("  and {} more\n", tally.flags.size() - flags_shown);
  if (!settings.out.empty()) fmt::print("written: {0}/flags.jsonl, {0}/review.csv\n", settings.out.string());
}

}  // namespace kw::app
