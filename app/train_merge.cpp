#include "train_merge.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/style.h"
#include "dataset_host.h"
#include "session.h"
#include "train_child.h"
#include "train_job.h"
#include "train_view.h"
#include "training/output_folder.h"
#include "training/session.h"

namespace kw::app {
namespace {

namespace fs = std::filesystem;

Result<std::string> adapter_of(const std::string& given) {
  std::error_code error;
  for (const char* part : {"adapter_config.json", "adapter_model.safetensors"})
    if (!fs::exists(fs::path(given) / part, error))
      return fail(fmt::format("cannot merge {}: there is no {} in it", given, part),
                  "name the folder that `kernelwright train` wrote, or a checkpoint in it");
  return folder_of(given);
}

Result<> check_new(const std::string& output) {
  std::error_code error;
  if (!fs::exists(output, error) || (fs::is_directory(output, error) && fs::is_empty(output, error)))
    return {};
  return fail(fmt::format("--output {} is there already", output), "give the name of a new folder");
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
  options.command = train_command(*python, {"merge", *adapter, "--model", *model, "--output",
                                            folder_of(flags.output), "--device", flags.device});
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

}  // namespace kw::app
