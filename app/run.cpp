#include "run.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <filesystem>
#include <utility>

#include "base/async/loop.h"
#include "base/core/crypto.h"
#include "base/core/display.h"
#include "base/core/files.h"
#include "base/core/text.h"
#include "loop/model_client/scripted_model.h"
#include "loop/run_store/run_store.h"
#include "loop/run_store/trace_files.h"
#include "options/config.h"
#include "options/shared_flags.h"
#include "output/output_file.h"
#include "revision.h"
#include "run_files.h"
#include "run_report.h"
#include "session.h"
#include "tracker.h"
#include "types/options.h"
#include "verifier_source.h"
#include "version.h"

namespace kw::app {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

json::array words(const std::vector<std::string>& texts) {
  return json::array(texts.begin(), texts.end());
}

json::object source_identity(const SourceFlags& source) {
  json::array levels(source.levels.begin(), source.levels.end());
  return {{"paths", words(source.paths)},
          {"traces", source.traces},
          {"kernelbook", source.kernelbook},
          {"kernelbench", source.kernelbench},
          {"kernelbook-samples", source.kernelbook_samples},
          {"kernelbench-samples", source.kernelbench_samples},
          {"levels", std::move(levels)},
          {"shuffle", source.shuffle}};
}

json::object loop_identity(const refine::Settings& settings) {
  return {{"multi-turn", settings.multi_turn},
          {"max-turns", settings.max_turns},
          {"target-speedup", settings.target_speedup},
          {"min-trust", to_string(settings.min_trust)},
          {"require-speed", to_string(settings.require_speed)},
          {"retry-failed", settings.retry_failed},
          {"samples-per-task", settings.samples_per_task},
          {"prompt-style", to_string(settings.style)},
          {"system-prompt-sha256", sha256_hex(settings.system_prompt)},
          {"sampling", llm::to_json(settings.sampling)}};
}

// The identity of a run: all options that change tasks, answers or verdicts; not --limit and --sample-id,
// which only select tasks. The names of the model and of the device are added later.
json::object run_identity(const SourceFlags& source, const refine::Settings& settings,
                          const Settings& judging) {
  json::object all = loop_identity(settings);
  for (const json::object& part : {source_identity(source), verdict_settings_json(judging)})
    for (const auto& [name, value] : part) all[name] = value;
  return all;
}

struct RunWorld {
  const RunFlags& flags;
  refine::Settings settings;
  SourcePtr source;
  EvaluatorPlan plan;
  store::RunInfo info;
  RunReport report;
  Session session;

  std::unique_ptr<llm::ScriptedModel> scripted;
  std::unique_ptr<llm::OpenAiClient> chat;
  std::unique_ptr<VerifierSource> evaluator;
  std::unique_ptr<store::RunStore> store;
  std::size_t unsaved = 0;
  std::uint64_t ended = 0;             // traces in the database, once it is known
  std::optional<std::size_t> total{};  // traces of the whole run, if the source knows it
  bool save_failed = false;
  std::unique_ptr<Tracker> tracker{};
  RunFigures figures{};
};

// The scripted model is an ordinary server within this process.
async::Task<Result<>> connect(RunWorld* world) {
  llm::ServerOptions options = world->flags.model.server_options();
  if (const std::string& recorded = world->flags.model.replay; !recorded.empty()) {
    llm::ScriptedOptions script;
    script.files = {recorded};
    script.answer_time =
        std::chrono::milliseconds(static_cast<long>(world->flags.model.replay_delay_s.value_or(0) * 1000));
    auto scripted = llm::ScriptedModel::start(world->session.loop, std::move(script));
    if (!scripted) co_return std::unexpected(scripted.error());
    world->scripted = std::move(*scripted);
    options.base_url = world->scripted->url();
    options.model.clear();
    options.api_key.clear();
  }
  world->report.wait_for(fmt::format("asking {} for its models", options.base_url));
  auto chat =
      co_await llm::OpenAiClient::connect(world->session.loop, world->session.stop, std::move(options));
  if (!chat) co_return std::unexpected(chat.error());
  world->chat = std::move(*chat);
  world->info.settings["model"] = world->chat->model().name;
  co_return Result<>();
}

async::Task<Result<>> start_evaluator(RunWorld* world) {
  world->report.wait_for(start_words(world->plan));
  auto evaluator =
      co_await VerifierSource::start(world->session.loop, world->session.stop, world->plan,
                                     [world](const std::string& line) { world->report.say(line); });
  if (!evaluator) co_return std::unexpected(evaluator.error());
  world->evaluator = std::move(*evaluator);
  world->info.settings["device"] = world->evaluator->device();
  co_return Result<>();
}

// Call it after the run is open: a run that is refused leaves its files in place.
Result<> keep_earlier_files(RunWorld& world) {
  if (!world.flags.output.fresh) return {};
  world.report.wait_for("");
  if (const fs::path& earlier = world.store->replaced(); !earlier.empty())
    fmt::print(stderr, "note: {} was renamed to {}\n", world.store->path().string(), earlier.string());
  for (const fs::path& file : trace_files(world.flags.output))
    if (auto kept = set_aside(file); !kept) return kept;
  return {};
}

Result<> open_store(RunWorld* world) {
  fs::path folder = world->flags.output.run_folder();
  auto store = store::RunStore::open(world->session.loop, folder, world->info, world->flags.output.fresh);
  if (!store) return std::unexpected(store.error());
  world->store = std::move(*store);
  if (auto kept = keep_earlier_files(*world); !kept) return kept;
  if (auto logged = world->report.log_to(folder / "log" / "run.log"); !logged) return logged;
  return write_file(folder / "config.toml", world->info.config_toml);
}

async::Task<Result<>> write_exports(RunWorld* world) {
  auto form = world->settings.multi_turn ? store::Form::multi : store::Form::single;
  co_return co_await store::save_traces(*world->store, world->flags.output.output, form);
}

// A failure is said once: run.db has the traces, and the last write at the end of the run decides its status.
async::Task<> save_now_and_then(RunWorld* world) {
  auto saved = co_await write_exports(world);
  if (!saved && !std::exchange(world->save_failed, true)) world->report.say("error: " + saved.error().what);
}

void trace_ended(RunWorld* world) {
  if (++world->unsaved < world->flags.output.save_interval) return;
  world->unsaved = 0;
  async::spawn(world->session.loop, save_now_and_then(world), [world](const std::exception_ptr& thrown) {
    if (thrown) world->report.say("error: cannot save the traces: " + async::what_of(thrown));
  });
}

void track(RunWorld* world, const Trace& trace, bool resumed) {
  if (!world->tracker) return;
  json::object figures = world->figures.add(trace);
  if (!resumed) world->tracker->log(world->figures.ended(), figures);
}

Result<> start_tracker(RunWorld* world) {
  const RunOutputFlags& output = world->flags.output;
  auto tracker = Tracker::start(
      {output.trackers, fs::path(output.output).stem().string(), world->flags.settings.python});
  if (!tracker) return std::unexpected(tracker.error());
  world->tracker = std::move(*tracker);
  return {};
}

// The run is complete without its curves elsewhere: an error changes no exit status.
void end_tracker(RunWorld* world) {
  if (!world->tracker) return;
  if (auto reported = world->tracker->finish(); !reported)
    world->report.say("error: " + reported.error().what);
}

async::Task<Result<>> converse(RunWorld* world) {
  async::Loop& loop = world->session.loop;
  async::Stop& stop = world->session.stop;
  world->report.started();
  refine::Loop refinement(loop, stop, *world->chat, world->evaluator->verifier(), *world->store,
                          world->settings, world->report.hooks([world](const Trace& trace, bool resumed) {
                            track(world, trace, resumed);
                            if (!resumed) trace_ended(world);
                          }));
  auto ended = co_await refinement.run(*world->source);
  co_await world->evaluator->end();
  world->evaluator.reset();
  co_return ended;
}

std::uint64_t unjudged(const store::Summary& summary) {
  for (const auto& [reason, count] : summary.stop_reasons)
    if (reason == to_string(StopReason::verifier_unavailable)) return count;
  return 0;
}

async::Task<Result<>> run_and_save(RunWorld* world) {
  if (auto connected = co_await connect(world); !connected) co_return connected;
  // The device of a service is known only after its response. The local engine starts after open_store(),
  // which may refuse the run sooner.
  if (world->plan.remote)
    if (auto started = co_await start_evaluator(world); !started) co_return started;
  if (auto opened = open_store(world); !opened) co_return opened;
  if (!world->evaluator)
    if (auto started = co_await start_evaluator(world); !started) co_return started;
  if (auto started = start_tracker(world); !started) co_return started;
  auto ended = co_await converse(world);
  end_tracker(world);
  auto saved = co_await write_exports(world);
  world->report.finish();
  auto summary = co_await world->store->summary();
  if (summary) world->report.summary(*summary);
  if (summary) world->ended = summary->ended;
  if (!ended) co_return ended;
  if (!saved) co_return saved;
  if (!summary) co_return std::unexpected(summary.error());
  if (!world->session.stop.requested() && summary->ended > 0 && unjudged(*summary) == summary->ended)
    co_return fail("no answer could be judged", "the run's log and `kernelwright doctor` have the reason");
  co_return Result<>();
}

// Replaces the remedy of a server's error by that of the scripted model.
Error from_recordings(const RunWorld& world, Error error) {
  const std::string& file = world.flags.model.replay;
  if (!file.empty() && error.remedy.contains("/v1"))
    error.remedy = fmt::format(
        "the scripted model has only the references in {}: also give this file to --traces", file);
  return error;
}

std::string interruption(const RunWorld& world) {
  if (!world.store) return "interrupted before the first question; the same command starts again";
  std::string count = fmt::format("{}", world.ended);
  if (world.total) count += fmt::format(" of {}", *world.total);
  return fmt::format(
      "interrupted; {} keeps all answers so far (complete traces: {}); the same command goes on",
      (world.flags.output.run_folder() / "run.db").string(), count);
}

async::Task<int> run_loop(RunWorld* world) {
  auto ended = co_await run_and_save(world);
  world->report.finish();
  if (world->session.interrupted()) {
    fmt::print(stderr, "{}\n", interruption(*world));
    co_return exit_interrupted;
  }
  if (!ended) complain(from_recordings(*world, ended.error()));
  co_return ended && !world->report.had_bad_tasks() ? 0 : exit_failure;
}

std::string task_line(const Job& job, bool as_json) {
  if (!as_json)
    return fmt::format("{}  {}  {} bytes", visible_line(sample_key(job.task)), visible_line(job.task.task_id),
                       job.task.reference_code.size());
  return json::serialize(json::object{{"sample_key", sample_key(job.task)},
                                      {"task_id", job.task.task_id},
                                      {"sample_number", job.sample_number}});
}

}  // namespace

void RunFlags::add(CLI::App& app) {
  source.add(app);
  model.add(app);
  loop.add(app);
  add_settings(app, settings);
  evaluator.add(app);
  output.add(app);
}

int run(const RunFlags& flags, const CLI::App& verb) {
  if (auto fits = flags.evaluator.check(verb); !fits) {
    complain(fits.error());
    return exit_usage;
  }
  auto seed = static_cast<std::uint64_t>(flags.model.sampling.seed.value_or(0));
  auto source = select_tasks(flags.source, seed, parquet_helper(flags.settings.python));
  if (!source) return failed(source.error());
  if (flags.output.dry_run)
    return dry_run(**source, [&](const Job& job) { return task_line(job, flags.output.json); });
  if (auto owner = own_processes(); !owner) return failed(owner.error());
  return run_tasks(flags, verb, std::move(*source));
}

namespace {

// Reads up to the first task: an input without one leaves no run, and replaces none.
Result<SourcePtr> with_a_task(SourcePtr source) {
  std::vector<JobOrError> first;
  while (first.empty() || std::holds_alternative<RowError>(first.back())) {
    auto next = source->next();
    if (!next) return std::unexpected(next.error());
    if (!*next) break;
    first.push_back(std::move(**next));
  }
  if (!first.empty() && std::holds_alternative<RowError>(first.back())) {
    for (const JobOrError& each : first)
      fmt::print(stderr, "error: {}\n", describe(std::get<RowError>(each)));
    return fail("no task can be read, so there is no run", "correct the rows that are named above");
  }
  std::vector<SourcePtr> parts;
  parts.push_back(job_list(std::move(first)));
  parts.push_back(std::move(source));
  return join(std::move(parts));
}

}  // namespace

int run_tasks(const RunFlags& flags, const CLI::App& verb, SourcePtr source) {
  if (auto good = check_trace_files(flags.output); !good) return failed(good.error());
  auto settings = flags.loop.settings(flags.settings.backward);
  if (!settings) return failed(settings.error());
  settings->sampling = flags.model.sampling;
  settings->requests_in_flight = flags.model.batch_size;
  settings->min_trust = flags.settings.min_trust;
  auto plan = plan_evaluator(flags.evaluator, flags.settings,
                             {flags.output.run_folder().string(), flags.output.fresh});
  if (!plan) return failed(plan.error());

  // A connection per request; twice, since the scripted model's server is also in this process.
  allow_descriptors(2 * flags.model.batch_size + 1024);

  store::RunInfo info;
  info.settings = run_identity(flags.source, *settings, plan->settings);
  if (plan->local) info.settings["device"] = device_of(*plan->local);
  info.config_toml = resolved_toml(verb);
  info.program_version = kw_version;
  settings->program_version = kw_version;
  info.git_revision = kw_revision;
  auto total = source->total();
  if (total) *total *= settings->samples_per_task;
  auto tasks = with_a_task(std::move(source));
  if (!tasks) return failed(tasks.error());
  RunWorld world{flags,
                 std::move(*settings),
                 std::move(*tasks),
                 std::move(*plan),
                 std::move(info),
                 RunReport(flags.output, total),
                 {},
                 {},
                 {},
                 {},
                 {},
                 0,
                 0,
                 total,
                 false};
  return world.session.run([&] { return run_loop(&world); }, [&] { world.report.tick(); });
}

}  // namespace kw::app
