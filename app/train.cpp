#include "train.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <filesystem>

#include "base/core/display.h"
#include "base/core/files.h"
#include "dataset_host.h"
#include "session.h"
#include "tracker.h"
#include "train/job/output_folder.h"
#include "train/job/session.h"
#include "train/recipe/files.h"
#include "train_view.h"
#include "version.h"

namespace kw::app {

namespace fs = std::filesystem;

Result<TrainPython> train_python(const std::string& asked) {
  auto python = python_child(asked);
  if (!python) return std::unexpected(python.error());
  TrainPython found{python->program, python->environment, {}};
  for (const fs::path& folder : python->installation.python_path)
    if (fs::path pins = folder / "requirements-train.txt"; fs::exists(pins))
      found.requirements = pins.string();
  return found;
}

process::Command train_command(const TrainPython& python, std::vector<std::string> words) {
  process::Command command;
  command.arguments = {python.program, "-P", "-m", "kernelwright._train"};
  for (std::string& word : words) command.arguments.push_back(std::move(word));
  command.arguments.insert(command.arguments.end(), {"--events", fmt::format("{}", training::events_fd)});
  command.environment = python.environment;
  return command;
}

Result<> install_packages(const TrainPython& python) {
  if (python.requirements.empty())
    return fail("requirements-train.txt is not in this installation", "unpack the tarball again");
  fmt::print(stderr, "installing {} into {}\n", python.requirements, python.program);
  process::Command pip;
  // --no-deps: the list is complete, and dependencies of its packages could replace the installed PyTorch.
  pip.arguments = {python.program, "-P",
                   "-m",           "pip",
                   "install",      "--disable-pip-version-check",
                   "--no-input",   "--no-deps",
                   "-r",           python.requirements};
  pip.environment = python.environment;
  pip.output = STDERR_FILENO;
  auto ending = training::run_child(pip, {[](std::string_view) {}, [](bool) {}});
  if (!ending) return std::unexpected(ending.error());
  if (ending->interrupted)
    return fail("interrupted while packages were being installed", "repeat the command");
  if (ending->by_signal || ending->status != 0)
    return fail(
        fmt::format("pip could not install {}", python.requirements),
        fmt::format("its output above has the reason; `{} -m pip` must exist and have permission to install",
                    python.program));
  return {};
}

namespace {

namespace fs = std::filesystem;

// "name" or "owner/name": a missing folder could have such a name as well.
bool could_be_on_the_hub(const std::string& given) {
  return !given.starts_with('.') && !given.starts_with('~') && !given.starts_with('/') &&
         !given.ends_with('/') && std::ranges::count(given, '/') <= 1;
}

Result<recipe::Recipe> recipe_of(const TrainFlags& flags) {
  auto recipe = recipe::open_recipe(flags.recipe);
  if (!recipe) return recipe;
  for (const std::string& change : flags.set)
    if (auto changed = recipe::set(*recipe, change); !changed) return std::unexpected(changed.error());
  return recipe;
}

}  // namespace

std::string folder_of(const std::string& given) {
  fs::path path = fs::absolute(given).lexically_normal();
  if (!path.has_filename() && path.has_parent_path() && path != path.root_path()) path = path.parent_path();
  return path.string();
}

Result<std::string> model_of(const std::string& given) {
  std::error_code error;
  if (fs::is_directory(given, error)) {
    if (!fs::exists(fs::path(given) / "config.json", error))
      return fail(fmt::format("--model {}: the folder has no config.json", given),
                  "name the folder of a model, with its weights and tokenizer");
    return folder_of(given);
  }
  if (fs::exists(given, error)) return fail(fmt::format("--model {} is a file", given), "name its folder");
  if (could_be_on_the_hub(given)) return given;
  return fail(fmt::format("--model {}: the folder does not exist", given),
              "name the folder of a model, or a model on the hub as owner/name");
}

Result<> check_words(const TrainFlags& flags) {
  for (const auto& [word, missing] : {std::pair{"--model", flags.model.empty()},
                                      {"--data", flags.data.empty()},
                                      {"--output", flags.output.empty() && !flags.dry_run}})
    if (missing)
      return fail(fmt::format("{} is missing", word),
                  "kernelwright train --model M --data F --output FOLDER; `--help` lists the rest");
  if (flags.dry_run && (flags.resume || flags.fresh || flags.push_to_hub))
    return fail("--dry-run excludes --resume, --fresh and --push-to-hub", "leave them out");
  if (flags.dry_run && flags.trackers.any())
    return fail("--dry-run excludes --report-to: it trains nothing", "leave one of them out");
  return {};
}

namespace {

Result<std::vector<training::DataFile>> validation_of(const TrainFlags& flags) {
  if (flags.validation != std::vector<std::string>{"split"})
    return training::look_at_files(flags.validation, "--validation");
  auto files = training::split_of(flags.data);
  if (!files) return std::unexpected(files.error());
  return training::look_at_files(*files, "--validation");
}

}  // namespace

Result<training::Job> train_job(const TrainFlags& flags) {
  training::Job job;
  auto recipe = recipe_of(flags);
  if (!recipe) return std::unexpected(recipe.error());
  auto model = model_of(flags.model);
  if (!model) return std::unexpected(model.error());
  auto data = training::look_at_files(flags.data);
  if (!data) return std::unexpected(data.error());
  job.model = std::move(*model);
  job.data = std::move(*data);
  auto validation = validation_of(flags);
  if (!validation) return std::unexpected(validation.error());
  if (auto good = training::check_held_out(job.data, *validation); !good)
    return std::unexpected(good.error());
  job.validation = std::move(*validation);
  if (!flags.output.empty()) job.output = folder_of(flags.output);
  job.engine = flags.engine;
  job.device = to_string(flags.device);
  job.memory_bytes = flags.memory_bytes;
  job.max_steps = flags.max_steps;
  job.resume = flags.resume;
  job.dry_run = flags.dry_run;
  job.force = flags.force;
  job.push_to_hub = flags.push_to_hub;
  job.program = fmt::format("kernelwright {}", kw_version);
  job.recipe = std::move(*recipe);
  return job;
}

namespace {

namespace fs = std::filesystem;

Result<std::string> adapter_of(const std::string& given) {
  std::error_code error;
  for (const char* part : {"adapter_config.json", "adapter_model.safetensors"})
    if (!fs::exists(fs::path(given) / part, error))
      return fail(fmt::format("cannot merge {}: the folder has no {}", given, part),
                  "name an output folder of `kernelwright train`, or a checkpoint in it");
  return folder_of(given);
}

Result<> check_new(const std::string& output) {
  std::error_code error;
  if (!fs::exists(output, error) || (fs::is_directory(output, error) && fs::is_empty(output, error)))
    return {};
  return fail(fmt::format("--output {} exists", output), "give the name of a new folder");
}

Result<training::Outcome> merge(const TrainMergeFlags& flags) {
  auto adapter = adapter_of(flags.adapter);
  if (!adapter) return std::unexpected(adapter.error());
  auto model = model_of(flags.model);
  if (!model) return std::unexpected(model.error());
  if (auto fresh = check_new(flags.output); !fresh) return std::unexpected(fresh.error());
  auto python = train_python(flags.python);
  if (!python) return std::unexpected(python.error());
  auto scratch = ScratchFolder::make({});
  if (!scratch) return std::unexpected(scratch.error());
  auto output = training::open_output_file(scratch->path());
  if (!output) return std::unexpected(output.error());

  training::SessionOptions options;
  options.command =
      train_command(*python, {"merge", *adapter, "--model", *model, "--output", folder_of(flags.output),
                              "--device", std::string(to_string(flags.device))});
  options.command.output = output->get();
  options.output_name = (scratch->path() / training::output_file).string();
  TrainView view({.terminal = is_terminal(STDERR_FILENO), .quiet = flags.quiet});
  auto outcome = training::run_session(options, {[&](const training::Told& told) { view.told(told); },
                                                 [&](const std::string& note) { view.say(note); }});
  view.finish();
  return outcome;
}

}  // namespace

int train_merge(const TrainMergeFlags& flags) {
  auto outcome = merge(flags);
  if (!outcome) complain(outcome.error());
  if (outcome && outcome->error) complain(*outcome->error);
  if (outcome && outcome->interrupted) return exit_interrupted;
  if (!outcome || outcome->error) return exit_failure;
  if (!flags.quiet) fmt::print("merged   {}\n", flags.output);
  return 0;
}

namespace {

namespace fs = std::filesystem;
using training::Start;

Start start_of(const TrainFlags& flags) {
  if (flags.fresh) return Start::fresh;
  return flags.resume ? Start::resume : Start::anew;
}

TrainView view_of(const TrainFlags& flags) {
  return TrainView({is_terminal(STDERR_FILENO), flags.quiet, flags.json, flags.dry_run});
}

// Runs the trainer on the job file in a folder, which also keeps its output.
Result<training::Outcome> run_trainer(const TrainFlags& flags, const TrainPython& python,
                                      const fs::path& folder, const Fd& output, training::EventLog* log,
                                      Tracker* tracker = nullptr) {
  training::SessionOptions options;
  options.command = train_command(python, {(folder / training::job_file).string()});
  options.command.output = output.get();
  options.output_name = (folder / training::output_file).string();
  options.log = log;
  TrainView view = view_of(flags);
  auto told = [&](const training::Told& event) {
    view.told(event);
    if (const auto* step = std::get_if<training::Step>(&event.event); step && tracker)
      tracker->log(step->step, figures_of(*step));
    if (const auto* measured = std::get_if<training::HeldOutLoss>(&event.event); measured && tracker)
      tracker->log(measured->step, figures_of(*measured));
  };
  auto outcome = training::run_session(options, {told, [&](const std::string& note) { view.say(note); }});
  view.finish();
  // What was trained is complete without its curves elsewhere.
  if (tracker)
    if (auto reported = tracker->finish(); !reported) complain(reported.error());
  return outcome;
}

// Leaves no files.
Result<training::Outcome> check_fit(const TrainFlags& flags, const TrainPython& python, training::Job job) {
  auto scratch = ScratchFolder::make({});
  if (!scratch) return std::unexpected(scratch.error());
  if (flags.output.empty()) job.output = (scratch->path() / "output").string();
  auto written =
      write_file(scratch->path() / training::job_file, boost::json::serialize(training::to_json(job)));
  if (!written) return std::unexpected(written.error());
  auto output = training::open_output_file(scratch->path());
  if (!output) return std::unexpected(output.error());
  return run_trainer(flags, python, scratch->path(), *output, nullptr);
}

Result<training::Outcome> full_run(const TrainFlags& flags, const TrainPython& python,
                                   const training::Job& job) {
  if (auto good = training::check_output(job, start_of(flags)); !good) return std::unexpected(good.error());
  fs::path folder(job.output);
  auto tracker = Tracker::start({flags.trackers, folder.filename().string(), flags.python});
  if (!tracker) return std::unexpected(tracker.error());
  Result<Fd> lock;
  auto take_lock = [&] { return (lock = training::open_output_file(folder)).has_value(); };
  // Locks before the first write: of two simultaneous starts, one leaves the other's job unchanged. With a
  // fresh start the old folder is set aside first. prepare_output reports a folder that cannot be created.
  std::error_code error;
  if (!flags.fresh) fs::create_directories(folder, error);
  bool is_early = !flags.fresh && !error;
  if (is_early && !take_lock()) return std::unexpected(lock.error());
  if (auto ready = training::prepare_output(job, start_of(flags)); !ready)
    return std::unexpected(ready.error());
  if (!is_early && !take_lock()) return std::unexpected(lock.error());
  auto log = training::EventLog::open(folder / training::events_file);
  if (!log) return std::unexpected(log.error());
  return run_trainer(flags, python, folder, *lock, &*log, tracker->get());
}

Result<training::Outcome> run_job(const TrainFlags& flags) {
  auto python = train_python(flags.python);
  if (!python) return std::unexpected(python.error());
  auto job = train_job(flags);
  if (!job) return std::unexpected(job.error());
  if (flags.install_packages)
    if (auto installed = install_packages(*python); !installed) return std::unexpected(installed.error());
  return flags.dry_run ? check_fit(flags, *python, std::move(*job)) : full_run(flags, *python, *job);
}

void summary(const TrainFlags& flags, const training::Outcome& outcome) {
  const training::Done& done = *outcome.done;
  fmt::print("steps    {}{}\n", done.steps,
             done.ended_early ? ", ended early: the held-out loss no longer fell" : "");
  if (done.loss) fmt::print("loss     {:.4f}\n", *done.loss);
  if (done.validation_loss)
    fmt::print("held out {:.4f}, at step {}\n", *done.validation_loss, done.best_step.value_or(0));
  if (done.seconds) fmt::print("seconds  {:.1f}\n", *done.seconds);
  fmt::print("adapter  {}\n", flags.output);
  Style style = style_of(STDOUT_FILENO);
  for (const Error& each : outcome.warnings)
    fmt::print("{}\n", for_log(in_words(training::Warning{each}, style)));
}

int status_of(const TrainFlags& flags, const Result<training::Outcome>& outcome) {
  if (!outcome) {
    complain(outcome.error());
    return exit_failure;
  }
  if (outcome->error) complain(*outcome->error);
  if (outcome->interrupted) {
    if (!flags.dry_run && !outcome->error)
      fmt::print(stderr, "interrupted; {} keeps the checkpoints; the same command with --resume goes on\n",
                 flags.output);
    return exit_interrupted;
  }
  if (outcome->error) return outcome->usage ? exit_usage : exit_failure;
  if (flags.dry_run && !outcome->fits) {
    complain({"this training would not fit into memory",
              "reduce training.micro_batch (more accumulation) or data.max_length, or raise --memory"});
    return exit_failure;
  }
  if (outcome->done && !flags.quiet && !flags.json && !flags.dry_run) summary(flags, *outcome);
  return 0;
}

// --install-packages without a model, data and output installs only.
bool only_installs(const TrainFlags& flags) {
  return flags.install_packages && flags.model.empty() && flags.data.empty() && flags.output.empty();
}

int install_only(const TrainFlags& flags) {
  auto python = train_python(flags.python);
  auto installed = python ? install_packages(*python) : std::unexpected(python.error());
  if (!installed) complain(installed.error());
  return installed ? 0 : exit_failure;
}

}  // namespace

int train(const TrainFlags& flags, const CLI::App& verb) {
  if (verb.got_subcommand("merge")) return train_merge(flags.merge);
  if (only_installs(flags)) return install_only(flags);
  if (auto good = check_words(flags); !good) {
    complain(good.error());
    return exit_usage;
  }
  return status_of(flags, run_job(flags));
}

}  // namespace kw::app
