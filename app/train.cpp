#include "train.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <filesystem>

#include "base/fd.h"
#include "base/files.h"
#include "base/style.h"
#include "dataset_host.h"
#include "session.h"
#include "train_child.h"
#include "train_job.h"
#include "train_merge.h"
#include "train_view.h"
#include "training/output_folder.h"
#include "training/session.h"

namespace kw::app {
namespace {

namespace fs = std::filesystem;
using training::Job;
using training::Start;

Start start_of(const TrainFlags& flags) {
  if (flags.fresh) return Start::fresh;
  return flags.resume ? Start::resume : Start::anew;
}

TrainView view_of(const TrainFlags& flags) {
  return TrainView({is_terminal(STDERR_FILENO), flags.quiet, flags.json, flags.dry_run});
}

// The trainer on the job file in a folder, where its words are kept too.
Result<training::Outcome> run_trainer(const TrainFlags& flags, const TrainPython& python,
                                      const fs::path& folder, const Fd& output, training::EventLog* log) {
  training::SessionOptions options;
  options.command = train_command(python, {(folder / training::job_file).string()});
  options.command.output = output.get();
  options.output_name = (folder / training::output_file).string();
  options.log = log;
  TrainView view = view_of(flags);
  auto outcome = training::run_session(options, {[&](const training::Told& told) { view.told(told); },
                                                 [&](const std::string& note) { view.say(note); }});
  view.finish();
  return outcome;
}

// Leaves nothing behind.
Result<training::Outcome> dry_run(const TrainFlags& flags, const TrainPython& python, Job job) {
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

Result<training::Outcome> full_run(const TrainFlags& flags, const TrainPython& python, const Job& job) {
  if (auto good = training::check_output(job, start_of(flags)); !good) return std::unexpected(good.error());
  fs::path folder(job.output);
  Result<Fd> lock;
  auto take_lock = [&] { return (lock = training::open_output_file(folder)).has_value(); };
  // Before anything is written: of two that start at once, the other's job must stay as it is. What is
  // set aside first is nobody's, and a folder that cannot be made is for prepare_output to tell.
  std::error_code error;
  if (!flags.fresh) fs::create_directories(folder, error);
  bool is_early = !flags.fresh && !error;
  if (is_early && !take_lock()) return std::unexpected(lock.error());
  if (auto ready = training::prepare_output(job, start_of(flags)); !ready)
    return std::unexpected(ready.error());
  if (!is_early && !take_lock()) return std::unexpected(lock.error());
  auto log = training::EventLog::open(folder / training::events_file);
  if (!log) return std::unexpected(log.error());
  return run_trainer(flags, python, folder, *lock, &*log);
}

Result<training::Outcome> run_job(const TrainFlags& flags) {
  auto python = train_python(flags.python);
  if (!python) return std::unexpected(python.error());
  auto job = train_job(flags);
  if (!job) return std::unexpected(job.error());
  if (flags.install_packages)
    if (auto installed = install_packages(*python); !installed) return std::unexpected(installed.error());
  return flags.dry_run ? dry_run(flags, *python, std::move(*job)) : full_run(flags, *python, *job);
}

void summary(const TrainFlags& flags, const training::Done& done) {
  fmt::print("steps    {}\n", done.steps);
  if (done.loss) fmt::print("loss     {:.4f}\n", *done.loss);
  if (done.seconds) fmt::print("seconds  {:.1f}\n", *done.seconds);
  fmt::print("adapter  {}\n", flags.output);
}

int status_of(const TrainFlags& flags, const Result<training::Outcome>& outcome) {
  if (!outcome) {
    complain(outcome.error());
    return exit_failure;
  }
  if (outcome->error) complain(*outcome->error);
  if (outcome->interrupted) {
    if (!flags.dry_run && !outcome->error)
      fmt::print(stderr, "interrupted; --resume goes on from the last checkpoint\n");
    return exit_interrupted;
  }
  if (outcome->error) return exit_failure;
  if (flags.dry_run && !outcome->fits) {
    complain({"this training would not fit into memory",
              "smaller training.micro_batch (more accumulation) or data.max_length, or a larger --memory"});
    return exit_failure;
  }
  if (outcome->done && !flags.quiet && !flags.json && !flags.dry_run) summary(flags, *outcome->done);
  return 0;
}

// With nothing to train on, installing is all that was asked for.
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
