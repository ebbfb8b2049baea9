#include "score.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <set>

#include "base/core/counted.h"
#include "base/core/crypto.h"
#include "base/core/files.h"
#include "base/core/json.h"
#include "dataset_host.h"
#include "options/shared_flags.h"
#include "score/report/measure.h"
#include "score/report/report.h"
#include "score/report/review.h"
#include "score_parts.h"
#include "session.h"

namespace kw::app {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t most_named = 20;
constexpr std::uint64_t seed = 42;  // of the random choice of answers to compile and to read

// The inputs of a result.
struct ScoreWorld {
  const ScoreOptions& options;
  const CLI::App& verb;
  TrainingGate gate;
  Questions questions;
  scoring::OutputSet set;
  std::optional<scoring::OutputSet> before;
  std::optional<scoring::Baseline> baseline;
  std::string model;

  const ScoreFlags& flags() const { return options.flags; }
};

// Refuses flags that would have no effect.
Result<> check_score_flags(const ScoreFlags& flags) {
  if (!flags.output.ends_with(".json"))
    return fail(fmt::format("--output {}: the extension is not .json", flags.output));
  if (flags.asks_a_model() && flags.recorded) return fail("--recorded requires existing outputs");
  if (!flags.asks_a_model() && !flags.baseline_model.empty())
    return fail("--baseline-model requires a model server", "give --vllm-url URL");
  if (!flags.asks_a_model() && !flags.model.model.empty())
    return fail("--model requires a model server", "give --vllm-url URL");
  if (!flags.asks_a_model() && flags.source.paths.empty())
    return fail("no input was given", "name outputs, or a server with --vllm-url and tasks");
  return {};
}

// Reads the tasks that rows of outputs may refer to by name.
Result<> add_named_tasks(const ScoreOptions& options, scoring::ReadOptions& read) {
  SourceFlags source = options.flags.source;
  if (source.kernelbench.empty() && source.kernelbook.empty() && source.traces.empty()) return {};
  source.paths.clear();
  if (source.kernelbook.empty()) source.kernelbook_samples = 0;
  if (source.kernelbench.empty()) source.kernelbench_samples = 0;
  auto tasks = select_tasks(source, 0, read.parquet);
  if (!tasks) return std::unexpected(tasks.error());
  return read_all(
      **tasks, [&](Job job) { read.tasks.emplace(job.task.task_id, std::move(job.task)); },
      [](const RowError&) {});
}

Result<> read_files(ScoreWorld& world) {
  scoring::ReadOptions read = read_options(world.options);
  if (auto added = add_named_tasks(world.options, read); !added) return added;
  if (!world.flags().asks_a_model()) {
    auto set = scoring::read_outputs(world.flags().source.paths, read);
    if (!set) return std::unexpected(set.error());
    world.set = std::move(*set);
  }
  const std::string& baseline = world.flags().baseline;
  if (baseline.empty()) return {};
  if (scoring::is_result(baseline)) {
    auto result = scoring::read_result(baseline);
    if (!result) return std::unexpected(result.error());
    auto records = scoring::records_of(*result);
    if (!records) return fail(fmt::format("{}: {}", baseline, records.error().what));
    world.baseline = {baseline, std::move(*records)};
    return {};
  }
  auto before = scoring::read_outputs({baseline}, read);
  if (!before) return std::unexpected(before.error());
  world.before = std::move(*before);
  return {};
}

void name_refused(const std::vector<scoring::TrainingCheck::Seen>& seen) {
  std::size_t named = 0;
  for (const scoring::TrainingCheck::Seen& one : seen)
    if (named++ < most_named) fmt::print(stderr, "  {} (by its {})\n", one.item, one.by);
  if (named > most_named) fmt::print(stderr, "  … and {} more\n", named - most_named);
}

// Whether the evaluation may continue: no task is in the training data, or --allow-trained is set.
bool passes(const ScoreWorld& world, const std::vector<TrainingGate::Item>& items) {
  std::vector<scoring::TrainingCheck::Seen> seen = world.gate.seen(items);
  if (seen.empty() || world.flags().allow_trained) return true;
  complain({fmt::format("{} of {} tasks or rows are in the training manifest, so their score would mean "
                        "nothing",
                        seen.size(), items.size()),
            "score others, or give --allow-trained: the result will say so"});
  name_refused(seen);
  return false;
}

int list_questions(const ScoreWorld& world, const std::vector<TrainingGate::Item>& items, bool good) {
  std::size_t samples = world.flags().loop.samples_per_task;
  if (world.flags().asks_a_model()) {
    std::size_t count = world.questions.tasks.size() + world.questions.rows.size();
    fmt::print("{}, {} each: {} would be asked for\n",
               counted(count, world.questions.rows.empty() ? "task" : "row"), counted(samples, "sample"),
               counted(count * samples, "answer"));
  } else {
    std::size_t to_judge = 0;
    for (const scoring::Output& output : world.set.outputs) to_judge += output.job.has_value();
    fmt::print("{} of {}, {} to be judged\n", counted(world.set.outputs.size(), "output"),
               counted(items.size(), "task or row", "tasks or rows"), to_judge);
  }
  std::size_t bad = world.set.bad_rows.size() + world.questions.bad_rows.size();
  fmt::print("{} cannot be read\n{} refused: they are in the training data\n", counted(bad, "row"),
             world.flags().allow_trained ? 0 : world.gate.seen(items).size());
  return good ? 0 : exit_failure;
}

int ask_model(ScoreWorld& world) {
  const ScoreFlags& flags = world.flags();
  Answers after = ask_model(world.options, world.verb, world.questions, flags.model.model, ".outputs");
  if (after.status != 0) return after.status;
  world.set = std::move(after.set);
  world.model = after.model;
  for (RowError& error : world.questions.bad_rows) world.set.bad_rows.push_back(std::move(error));
  if (flags.baseline_model.empty()) return 0;
  Answers before = ask_model(world.options, world.verb, world.questions, flags.baseline_model, ".baseline");
  if (before.status != 0) return before.status;
  world.before = std::move(before.set);
  return 0;
}

int judge_outputs(ScoreWorld& world) {
  std::vector<scoring::OutputSet*> sets = {&world.set};
  if (world.before) sets.push_back(&*world.before);
  return judge(world.options, sets);
}

Result<> compile_some(ScoreWorld& world) {
  if (world.flags().compile == 0) return {};
  DatasetMachineFlags machine;
  machine.python = world.options.settings.python;
  auto host = dataset_host(machine, true);
  if (!host) return std::unexpected(host.error());
  labels::CompileOptions compile;
  compile.python = host->python.python;
  for (const fs::path& folder : host->installation.python_path)
    compile.python_path.push_back(folder.string());
  compile.native = host->installation.native.string();
  compile.jobs = host->threads;
  compile.allow_unsandboxed = world.options.settings.allow_unsandboxed;
  compile.cache = world.flags().beside(".labels.jsonl");
  return scoring::spot_compile(world.set.outputs, world.flags().compile, seed, compile);
}

void measure_all(ScoreWorld& world) {
  scoring::choose_turns(world.set.outputs);
  scoring::measure(world.set.outputs);
  world.gate.mark(world.set);
  if (!world.before) return;
  scoring::choose_turns(world.before->outputs);
  scoring::measure(world.before->outputs);
  const ScoreFlags& flags = world.flags();
  scoring::Baseline baseline{flags.baseline.empty() ? flags.baseline_model : flags.baseline, {}};
  for (scoring::Output& output : world.before->outputs) baseline.records.push_back(std::move(output.record));
  world.baseline = std::move(baseline);
}

json::object scored_facts(const ScoreWorld& world) {
  const ScoreFlags& flags = world.flags();
  json::array sources;
  for (const std::string& path : flags.source.paths) {
    std::error_code ignored;
    json::object source{{"path", path}, {"sha256", nullptr}};
    if (fs::is_regular_file(path, ignored))
      if (auto bytes = read_file(path)) source["sha256"] = sha256_hex(*bytes);
    sources.push_back(std::move(source));
  }
  std::set<std::string> models;
  for (const scoring::Output& output : world.set.outputs)
    if (!output.record.model.empty()) models.insert(output.record.model);
  if (!world.model.empty()) models.insert(world.model);
  return {
      {"what", flags.asks_a_model() ? "answers of a model" : "outputs"},
      {"sources", std::move(sources)},
      {"models", json::array(models.begin(), models.end())},
      {"samples_per_task", flags.asks_a_model() ? json::value(flags.loop.samples_per_task) : json::value()},
      {"sampling", flags.asks_a_model() ? json::value(llm::to_json(flags.model.sampling)) : json::value()},
      {"turns", to_string(flags.turns)},
      {"most_turns", scoring::most_turns(world.set.outputs)}};
}

// The values of --k; by default those that half of the tasks allow.
std::vector<std::size_t> k_of(const ScoreWorld& world) {
  if (!world.flags().k.empty()) return world.flags().k;
  std::vector<score::Outcome> outcomes;
  for (const scoring::Output& output : world.set.outputs)
    if (output.record.is_scored && output.record.verdict.by != scoring::JudgedBy::nobody)
      outcomes.push_back({output.record.item, output.record.verdict.standing, {}});
  return score::usual_k(score::by_task(outcomes));
}

json::object make_result(ScoreWorld& world) {
  scoring::ResultParts parts;
  parts.made = made_facts();
  parts.scored = scored_facts(world);
  parts.protocol = protocol_facts(world.options, world.set);
  parts.machine = machine_facts();
  parts.training = world.gate.check(items_of(world.set), world.flags().allow_trained);
  parts.set = &world.set;
  parts.baseline = std::move(world.baseline);
  parts.compile_asked = world.flags().compile;
  parts.figures.k = k_of(world);
  return scoring::result_of(parts);
}

Result<> write_both(const json::object& result, const fs::path& output) {
  if (auto written = write_file(output, scoring::pretty(result)); !written) return written;
  fs::path report = output;
  return write_file(report.replace_extension(".md"), scoring::markdown(result));
}

Result<> write_result(const ScoreWorld& world, json::object& result) {
  const ScoreFlags& flags = world.flags();
  if (auto kept = keep_labels(flags); !kept) return kept;
  if (flags.review > 0) {
    scoring::ReviewRequest request{flags.review, seed, flags.show_findings, flags.beside(".review.csv"),
                                   flags.beside(".review.md")};
    if (auto written = scoring::write_review(world.set.outputs, request, result); !written) return written;
  }
  return write_both(result, flags.output);
}

void say(const ScoreFlags& flags, const json::object& result, const fs::path& output) {
  if (flags.json) {
    json::object shown = result;
    shown.erase("outputs");
    fmt::print("{}\n", json::serialize(shown));
  } else if (!flags.quiet) {
    fs::path report = output;
    fmt::print("{}\nresult   {}\nreport   {}\nlook at  kernelwright report {} --output {}\n",
               scoring::short_table(result), output.string(), report.replace_extension(".md").string(),
               output.string(), fs::path(output).replace_extension(".html").string());
  }
}

int read_review(const ScoreFlags& flags) {
  if (flags.source.paths.size() != 1) {
    complain({"--read-review requires one result", "kernelwright score --read-review SHEET RESULT.json"});
    return exit_usage;
  }
  const std::string& path = flags.source.paths.front();
  auto result = scoring::read_result(path);
  if (!result) return failed(result.error());
  if (auto ours = check_report(fs::path(path).replace_extension(".md")); !ours) return failed(ours.error());
  if (auto taken = scoring::take_review(flags.read_review, *result); !taken) return failed(taken.error());
  if (auto written = write_both(*result, path); !written) return failed(written.error());
  scoring::View review = scoring::View(*result)["review"];
  for (scoring::View problem : review["problems"].list()) fmt::print(stderr, "note: {}\n", problem.text());
  if (!flags.quiet && !flags.json)
    fmt::print("{} read, {} without one\n", counted(review["reviews"].list().size(), "label"),
               counted(review["without_label"].count(), "row"));
  say(flags, *result, path);
  return 0;
}

// Whether no output was judged: then there is no metric to report.
bool nothing_judged(const ScoreWorld& world) {
  std::size_t judged = 0;
  std::size_t unknown = 0;
  for (const scoring::Output& output : world.set.outputs) {
    if (output.record.verdict.by == scoring::JudgedBy::nobody) return false;
    ++(output.record.verdict.standing == score::Standing::unknown ? unknown : judged);
  }
  return judged == 0 && unknown > 0;
}

// The number of rows that are in no figure.
std::size_t name_left_out(const ScoreWorld& world) {
  std::size_t count = 0;
  for (const scoring::OutputSet* set : {&world.set, world.before ? &*world.before : nullptr}) {
    if (set == nullptr) continue;
    for (const RowError& error : set->bad_rows) fmt::print(stderr, "left out: {}\n", describe(error));
    count += set->bad_rows.size();
  }
  return count;
}

int go_on(ScoreWorld& world) {
  if (auto owner = own_processes(); !owner) return failed(owner.error());
  if (world.flags().asks_a_model())
    if (int status = ask_model(world); status != 0) return status;
  if (world.set.outputs.empty()) {
    name_left_out(world);
    return failed({"the input has no outputs to score", "check that it is the right file"});
  }
  if (int status = judge_outputs(world); status != 0) return status;
  measure_all(world);
  if (auto compiled = compile_some(world); !compiled) return failed(compiled.error());
  json::object result = make_result(world);
  if (auto written = write_result(world, result); !written) return failed(written.error());
  const std::size_t left_out = name_left_out(world);
  say(world.flags(), result, world.flags().output);
  if (!nothing_judged(world)) return left_out == 0 ? 0 : exit_failure;
  return failed({"no answer could be judged", "the result and `kernelwright doctor` have the reason"});
}

}  // namespace

void ScoreOptions::add(CLI::App& app) {
  add_settings(app, settings);
  evaluator.add(app);
  // For `score`, --baseline names the outputs of the comparison.
  app.remove_option(app.get_option("--baseline"));
  flags.add(app);
}

int score(const ScoreOptions& options, const CLI::App& verb) {
  if (!options.flags.read_review.empty()) return read_review(options.flags);
  if (auto good = check_score_flags(options.flags); !good) {
    complain(good.error());
    return exit_usage;
  }
  if (auto fits = options.evaluator.check(verb); !fits) {
    complain(fits.error());
    return exit_usage;
  }
  if (auto may = check_written(options.flags); !may && !options.flags.dry_run) return failed(may.error());
  auto gate = TrainingGate::open(options.flags);
  if (!gate) return failed(gate.error());
  ScoreWorld world{options, verb, std::move(*gate), {}, {}, {}, {}, ""};
  if (auto read = read_files(world); !read) return failed(read.error());
  if (options.flags.asks_a_model()) {
    auto questions = read_questions(options);
    if (!questions) return failed(questions.error());
    world.questions = std::move(*questions);
  }
  std::vector<TrainingGate::Item> items =
      options.flags.asks_a_model() ? world.questions.items : items_of(world.set);
  bool good = passes(world, items);
  if (options.flags.dry_run) return list_questions(world, items, good);
  return good ? go_on(world) : exit_failure;
}

}  // namespace kw::app
