#include "run.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <filesystem>

#include "async/spawn.h"
#include "base/files.h"
#include "base/hash.h"
#include "config/config.h"
#include "evaluator.h"
#include "flags/setting_flags.h"
#include "llm/scripted_model.h"
#include "revision.h"
#include "run_report.h"
#include "schema/options.h"
#include "session.h"
#include "store/run_store.h"
#include "store/trace_files.h"
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
          {"require-speed", settings.require_speed == refine::RequireSpeed::always ? "always" : "auto"},
          {"retry-failed", settings.retry_failed},
          {"samples-per-task", settings.samples_per_task},
          {"prompt-style", settings.style == refine::PromptStyle::wrapper ? "wrapper" : "modelnew"},
          {"system-prompt-sha256", sha256_hex(settings.system_prompt)},
          {"sampling", llm::to_json(settings.sampling)}};
}

// What makes two runs the same run: all that changes tasks, answers or verdicts. --limit and --sample-id only
// say which of the tasks are done now. The names of the model and of the device join when they are known.
json::object identity(const SourceFlags& source, const refine::Settings& settings, const Settings& judging) {
  json::object all = loop_identity(settings);
  for (const json::object& part : {source_identity(source), verdict_settings_json(judging)})
    for (const auto& [name, value] : part) all[name] = value;
  return all;
}

struct World {
  const RunFlags& flags;
  refine::Settings settings;
  std::unique_ptr<TaskSource> source;
  EvaluatorPlan plan;
  store::RunInfo info;
  RunReport report;
  Session session;

  std::unique_ptr<llm::ScriptedModel> scripted;
  std::unique_ptr<llm::OpenAiClient> chat;
  std::unique_ptr<Evaluator> evaluator;
  std::unique_ptr<store::RunStore> store;
  std::size_t unsaved = 0;
};

// The scripted model is a server like any other, in this process.
async::Task<Result<>> connect(World* world) {
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
  auto chat =
      co_await llm::OpenAiClient::connect(world->session.loop, world->session.stop, std::move(options));
  if (!chat) co_return std::unexpected(chat.error());
  world->chat = std::move(*chat);
  world->info.settings["model"] = world->chat->model().name;
  co_return Result<>();
}

async::Task<Result<>> start_evaluator(World* world) {
  auto evaluator = co_await Evaluator::start(world->session.loop, world->session.stop, world->plan,
                                             [world](const std::string& line) { world->report.say(line); });
  if (!evaluator) co_return std::unexpected(evaluator.error());
  world->evaluator = std::move(*evaluator);
  world->info.settings["device"] = world->evaluator->device();
  co_return Result<>();
}

Result<> open_store(World* world) {
  fs::path folder = world->flags.output.run_folder();
  auto store = store::RunStore::open(world->session.loop, folder, world->info, world->flags.output.fresh);
  if (!store) return std::unexpected(store.error());
  world->store = std::move(*store);
  if (auto logged = world->report.log_to(folder / "log" / "run.log"); !logged) return logged;
  return write_file(folder / "config.toml", world->info.config_toml);
}

async::Task<Result<>> write_exports(World* world) {
  auto form = world->settings.multi_turn ? store::Form::multi_turn : store::Form::single_turn;
  co_return co_await store::save_traces(*world->store, world->flags.output.output, form);
}

async::Task<> save_now_and_then(World* world) {
  if (auto saved = co_await write_exports(world); !saved) world->report.say("error: " + saved.error().what);
}

void trace_ended(World* world) {
  if (++world->unsaved < world->flags.output.save_interval) return;
  world->unsaved = 0;
  async::spawn(world->session.loop, save_now_and_then(world), [world](const std::exception_ptr& thrown) {
    if (thrown) world->report.say("error: cannot save the traces: " + async::what_of(thrown));
  });
}

async::Task<Result<>> converse(World* world) {
  async::Loop& loop = world->session.loop;
  async::Stop& stop = world->session.stop;
  world->report.started();
  refine::Loop refinement(loop, stop, *world->chat, world->evaluator->verifier(), *world->store,
                          world->settings, world->report.hooks([world] { trace_ended(world); }));
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

async::Task<Result<>> run_and_save(World* world) {
  if (auto connected = co_await connect(world); !connected) co_return connected;
  // What a service judges on is known when it has answered; the engine here takes longer to start than the
  // run to be refused.
  if (world->plan.remote)
    if (auto started = co_await start_evaluator(world); !started) co_return started;
  if (auto opened = open_store(world); !opened) co_return opened;
  if (!world->evaluator)
    if (auto started = co_await start_evaluator(world); !started) co_return started;
  auto ended = co_await converse(world);
  auto saved = co_await write_exports(world);
  world->report.finish();
  auto summary = co_await world->store->summary();
  if (summary) world->report.summary(*summary);
  if (!ended) co_return ended;
  if (!saved) co_return saved;
  if (!summary) co_return std::unexpected(summary.error());
  if (!world->session.stop.requested() && summary->ended > 0 && unjudged(*summary) == summary->ended)
    co_return fail("no answer could be judged",
                   "the log beside the run says why; so does `kernelwright doctor`");
  co_return Result<>();
}

// The scripted model's refusals have another remedy than a server's.
Error from_recordings(const World& world, Error error) {
  const std::string& file = world.flags.model.replay;
  if (!file.empty() && error.remedy.contains("/v1"))
    error.remedy =
        fmt::format("the scripted model knows the references in {} alone: give it as --traces too", file);
  return error;
}

async::Task<int> run_loop(World* world) {
  auto ended = co_await run_and_save(world);
  world->report.finish();
  if (world->session.stop.requested()) {
    fmt::print(stderr, "interrupted; nothing that was answered is lost: the same command goes on\n");
    co_return exit_interrupted;
  }
  if (!ended) complain(from_recordings(*world, ended.error()));
  co_return ended && !world->report.had_bad_tasks() ? 0 : exit_failure;
}

// Says what would be asked; nothing is.
int dry_run(TaskSource& source, bool as_json) {
  bool bad = false;
  while (true) {
    auto next = source.next();
    if (!next) {
      complain(next.error());
      return exit_failure;
    }
    if (!*next) return bad ? exit_failure : 0;
    if (auto* error = std::get_if<RowError>(&**next)) {
      fmt::print(stderr, "error: {}\n", describe(*error));
      bad = true;
    } else {
      const TaskItem& item = std::get<TaskItem>(**next);
      if (as_json) {
        json::object line{{"sample_key", sample_key(item.task)},
                          {"task_id", item.task.task_id},
                          {"sample_number", item.sample_number}};
        fmt::print("{}\n", json::serialize(line));
        continue;
      }
      fmt::print("{}  {}  {} bytes\n", sample_key(item.task), item.task.task_id,
                 item.task.reference_code.size());
    }
  }
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
  auto failed = [](const Error& error) {
    complain(error);
    return exit_failure;
  };
  if (auto fits = flags.evaluator.check(verb); !fits) {
    complain(fits.error());
    return exit_usage;
  }
  auto seed = static_cast<std::uint64_t>(flags.model.sampling.seed.value_or(0));
  auto source = flags.source.open(parquet_helper(flags.settings.python), seed);
  if (!source) return failed(source.error());
  if (flags.output.dry_run) return dry_run(**source, flags.output.json);
  if (auto owner = own_processes(); !owner) return failed(owner.error());
  return run_tasks(flags, verb, std::move(*source));
}

int run_tasks(const RunFlags& flags, const CLI::App& verb, std::unique_ptr<TaskSource> source) {
  auto failed = [](const Error& error) {
    complain(error);
    return exit_failure;
  };
  auto settings = flags.loop.settings();
  if (!settings) return failed(settings.error());
  settings->sampling = flags.model.sampling;
  settings->requests_in_flight = flags.model.batch_size;
  settings->min_trust = flags.settings.min_trust;
  auto plan = plan_evaluator(flags.evaluator, flags.settings,
                             {flags.output.run_folder().string(), flags.output.fresh});
  if (!plan) return failed(plan.error());

  // A connection for each request, twice where the scripted model's server is in this process too.
  allow_descriptors(2 * flags.model.batch_size + 1024);

  store::RunInfo info;
  info.settings = identity(flags.source, *settings, plan->settings);
  if (plan->local) info.settings["device"] = device_of(*plan->local);
  info.config_toml = resolved_toml(verb);
  info.program_version = kw_version;
  info.git_revision = kw_revision;
  auto total = source->total();
  if (total) *total *= settings->samples_per_task;
  World world{flags,
              std::move(*settings),
              std::move(source),
              std::move(*plan),
              std::move(info),
              RunReport(flags.output, total),
              {},
              {},
              {},
              {},
              {},
              0};
  return world.session.run([&] { return run_loop(&world); }, [&] { world.report.tick(); });
}

}  // namespace kw::app
