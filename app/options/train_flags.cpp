#include "options/train_flags.h"

#include <algorithm>

#include "options/parse.h"

namespace kw {
namespace {

void add_device(CLI::App& app, DeviceKind& device, const std::string& help) {
  add_word<DeviceKind>(app, "--device", device, help)->type_name("D");
}

void add_python(CLI::App& app, std::string& python) {
  app.add_option("--python", python, "Python with the packages for training [VIRTUAL_ENV, .venv, PATH]")
      ->type_name("PATH");
}

Result<std::optional<std::string>> parse_repository(const std::string& text) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/";
  bool good = std::ranges::count(text, '/') == 1 && !text.starts_with('/') && !text.ends_with('/') &&
              text.find_first_not_of(letters) == std::string::npos;
  if (!good) return fail("\"" + text + "\" is not written as owner/name");
  return text;
}

void add_what(CLI::App& app, TrainFlags& flags) {
  app.add_option("--model", flags.model, "base model: a folder, or a name on the hub")->type_name("M");
  app.add_option("--data", flags.data, "files of training rows: CSV, JSON lines, Parquet; several are joined")
      ->type_name("F");
  app.add_option(
         "--validation", flags.validation,
         "files of rows for the held-out loss and the early stop; split: those that `dataset build` wrote "
         "beside --data")
      ->type_name("F|split");
  app.add_option("--output,-o", flags.output, "folder of the adapter")->type_name("FOLDER");
}

void add_how(CLI::App& app, TrainFlags& flags) {
  const std::string group = "Recipe";
  app.add_option("--recipe", flags.recipe, "recipe: default, fast, or a TOML file [default]")
      ->type_name("R")
      ->group(group);
  app.add_option("--set", flags.set, "change keys of the recipe: --set epochs=2 learning_rate=2e-4")
      ->type_name("KEY=VALUE")
      ->group(group);
  add_parsed<std::optional<std::uint64_t>>(
      app, "--max-steps", flags.max_steps,
      [](const std::string& text) { return given(parse_whole(text, 1, 1'000'000'000)); },
      "maximum number of steps [the recipe's epochs]")
      ->type_name("N")
      ->group(group);
}

void add_where(CLI::App& app, TrainFlags& flags) {
  const std::string group = "Machine";
  add_parsed<std::string>(
      app, "--engine", flags.engine, [](const std::string& text) { return parse_choice(text, {"trl"}); },
      "training engine: trl [trl]")
      ->type_name("E")
      ->group(group);
  add_device(app, flags.device, "device: auto, cpu or cuda [auto]");
  add_parsed<std::optional<std::uint64_t>>(
      app, "--memory", flags.memory_bytes, [](const std::string& text) { return given(parse_bytes(text)); },
      "limit of device memory, like 24G [all free memory]")
      ->type_name("SIZE")
      ->group(group);
  add_python(app, flags.python);
  for (const char* name : {"--device", "--python"}) app.get_option(name)->group(group);
  app.add_flag("--install-packages", flags.install_packages,
               "first install the pinned packages for training into that Python with pip")
      ->group(group);
}

void add_course(CLI::App& app, TrainFlags& flags) {
  const std::string group = "Run";
  CLI::Option* resume =
      app.add_flag("--resume", flags.resume,
                   "continue from the last checkpoint; start a new training if there is none")
          ->group(group);
  app.add_flag("--fresh", flags.fresh, "start a new training; rename the existing folder")
      ->group(group)
      ->excludes(resume);
  app.add_flag("--dry-run", flags.dry_run, "count tokens and steps, estimate memory, and exit")->group(group);
  app.add_flag("--force", flags.force, "train even if the learning rate of every step is 0")->group(group);
  add_parsed<std::optional<std::string>>(app, "--push-to-hub", flags.push_to_hub, parse_repository,
                                         "upload the finished adapter to this repository of the hub")
      ->type_name("OWNER/NAME")
      ->group(group);
  flags.trackers.add(app, group);
  app.add_flag("--json", flags.json, "print every event as a JSON line")->group(group);
  app.add_flag("--quiet,-q", flags.quiet, "print no progress and no summary")->group(group);
}

}  // namespace

void TrainMergeFlags::add(CLI::App& app) {
  app.add_option("ADAPTER", adapter, "folder of the adapter")->required();
  app.add_option("--model", model, "base model of the adapter")->required()->type_name("M");
  app.add_option("--output,-o", output, "new folder for the merged model")->required()->type_name("FOLDER");
  add_device(app, device, "device: auto, cpu or cuda [cpu]");
  add_python(app, python);
  app.add_flag("--quiet,-q", quiet, "print errors only");
}

void TrainFlags::add(CLI::App& app) {
  add_what(app, *this);
  add_how(app, *this);
  add_where(app, *this);
  add_course(app, *this);
  merge.add(*app.add_subcommand("merge", "Merge the adapter into the base model"));
}

}  // namespace kw
