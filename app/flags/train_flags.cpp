#include "flags/train_flags.h"

#include <algorithm>

#include "flags/parse.h"

namespace kw {
namespace {

void add_device(CLI::App& app, std::string& device, const std::string& help) {
  add_parsed<std::string>(
      app, "--device", device,
      [](const std::string& text) { return parse_choice(text, {"auto", "cpu", "cuda"}); }, help)
      ->type_name("D");
}

void add_python(CLI::App& app, std::string& python) {
  app.add_option("--python", python, "Python with what training needs [VIRTUAL_ENV, .venv, PATH]")
      ->type_name("PATH");
}

Result<std::optional<std::string>> parse_repository(const std::string& text) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/";
  bool good = std::ranges::count(text, '/') == 1 && !text.starts_with('/') && !text.ends_with('/') &&
              text.find_first_not_of(letters) == std::string::npos;
  if (!good) return fail("\"" + text + "\" is not written as owner/name");
  return text;
}

template <typename T>
Result<std::optional<T>> given(Result<T> value) {
  if (!value) return std::unexpected(value.error());
  return std::optional<T>(*value);
}

void add_what(CLI::App& app, TrainFlags& flags) {
  app.add_option("--model", flags.model, "the base model: a folder, or a name on the hub")->type_name("M");
  app.add_option("--data", flags.data, "rows to learn: CSV, JSON lines, Parquet; several are joined")
      ->type_name("F...");
  app.add_option("--output", flags.output, "the adapter's folder")->type_name("FOLDER");
}

void add_how(CLI::App& app, TrainFlags& flags) {
  const std::string group = "Recipe";
  app.add_option("--recipe", flags.recipe, "default, fast, or a file.toml [default]")
      ->type_name("R")
      ->group(group);
  app.add_option("--set", flags.set, "changes the recipe: --set epochs=2 learning_rate=2e-4")
      ->type_name("KEY=VALUE...")
      ->group(group);
  add_parsed<std::optional<std::uint64_t>>(
      app, "--max-steps", flags.max_steps,
      [](const std::string& text) { return given(parse_whole(text, 1, 1'000'000'000)); },
      "at most N steps [what the recipe's epochs take]")
      ->type_name("N")
      ->group(group);
}

void add_where(CLI::App& app, TrainFlags& flags) {
  const std::string group = "Machine";
  add_parsed<std::string>(
      app, "--engine", flags.engine, [](const std::string& text) { return parse_choice(text, {"trl"}); },
      "trl [trl]")
      ->type_name("E")
      ->group(group);
  add_device(app, flags.device, "auto, cpu or cuda [auto]");
  add_parsed<std::optional<std::uint64_t>>(
      app, "--memory", flags.memory_bytes, [](const std::string& text) { return given(parse_bytes(text)); },
      "memory of the device that may be taken, like 24G [all that is free]")
      ->type_name("SIZE")
      ->group(group);
  add_python(app, flags.python);
  for (const char* name : {"--device", "--python"}) app.get_option(name)->group(group);
  app.add_flag("--install-packages", flags.install_packages,
               "first install the pinned packages that training needs, with pip, into that Python")
      ->group(group);
}

void add_course(CLI::App& app, TrainFlags& flags) {
  const std::string group = "Course";
  CLI::Option* resume =
      app.add_flag("--resume", flags.resume, "go on from the last checkpoint, or begin where there is none")
          ->group(group);
  app.add_flag("--fresh", flags.fresh, "start anew; the folder that was there is kept aside")
      ->group(group)
      ->excludes(resume);
  app.add_flag("--dry-run", flags.dry_run, "count tokens and steps, estimate memory, and stop")->group(group);
  add_parsed<std::optional<std::string>>(app, "--push-to-hub", flags.push_to_hub, parse_repository,
                                         "upload the adapter when it is done")
      ->type_name("OWNER/NAME")
      ->group(group);
  app.add_flag("--json", flags.json, "every event as a JSON line on standard output")->group(group);
  app.add_flag("--quiet,-q", flags.quiet, "no progress and no summary")->group(group);
}

}  // namespace

void TrainMergeFlags::add(CLI::App& app) {
  app.add_option("ADAPTER", adapter, "the adapter's folder")->required();
  app.add_option("--model", model, "the base model it was trained on")->required()->type_name("M");
  app.add_option("--output", output, "a new folder for the merged model")->required()->type_name("FOLDER");
  add_device(app, device, "auto, cpu or cuda [cpu]");
  add_python(app, python);
  app.add_flag("--quiet,-q", quiet, "say nothing but errors");
}

void TrainFlags::add(CLI::App& app) {
  add_what(app, *this);
  add_how(app, *this);
  add_where(app, *this);
  add_course(app, *this);
  merge.add(*app.add_subcommand("merge", "The adapter's changes into the base model"));
}

}  // namespace kw
