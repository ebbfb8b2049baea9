#include "options/shared_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "options/parse.h"
#include "types/options.h"

namespace kw {
namespace {

CLI::Option* add_flag(CLI::App& app, const std::string& flag, const Option& option, Settings& settings) {
  auto read = [flag, &option, &settings](const std::string& text) {
    if (auto done = option.read(text, settings); !done) throw CLI::ValidationError(flag, done.error().what);
  };
  if (option.is_switch())
    return app.add_flag_function(
        flag, [read](std::int64_t count) { read(count > 0 ? "true" : "false"); }, option.help());
  CLI::Option* added = app.add_option_function<std::string>(flag, read, option.help())
                           ->type_name(std::string(option.about.value));
  return option.words().empty() ? added : with_words(added, option.words());
}

}  // namespace

namespace {

constexpr std::array about_references{"--device",    "--jobs",   "--timeout",           "--memory",
                                      "--timeline",  "--python", "--allow-unsandboxed", "--tolerance",
                                      "--precision", "--tf32",   "--weights",           "--shapes"};

void add_if(CLI::App& app, Settings& settings, const std::function<bool(const Option&)>& is_wanted) {
  for (const Option* option : all_options())
    if (is_wanted(*option))
      add_flag(app, std::string(option->about.flag), *option, settings)
          ->group(std::string(option->about.group));
}

}  // namespace

void add_settings(CLI::App& app, Settings& settings) {
  add_if(app, settings, [](const Option&) { return true; });
}

void add_task_settings(CLI::App& app, Settings& settings) {
  add_if(app, settings, [](const Option& option) {
    return std::ranges::find(about_references, option.about.flag) != about_references.end();
  });
}

namespace {

// `score` compiles some outputs here even if a service judges.
bool means_something_here(const CLI::App& verb, const std::string& name) {
  return verb.get_name() == "score" && name == "--allow-unsandboxed";
}

}  // namespace

Result<std::string> parse_evaluator(const std::string& text) {
  if (text == "local" || text == "modal" || text == "ray") return text;
  if (text.starts_with("http://") || text.starts_with("https://")) return text;
  return fail(fmt::format("\"{}\" is not local, modal, ray or a URL like http://host:8900", text));
}

void EvaluatorFlags::add(CLI::App& app) {
  const std::string group = "Engine";
  add_parsed<std::string>(app, "--evaluator", where, parse_evaluator,
                          "evaluator: local, modal, ray, or the URL of a service [local]")
      ->type_name("WHERE")
      ->envname("KERNELWRIGHT_EVALUATOR")
      ->group(group);
  add_parsed<double>(app, "--evaluator-patience", patience_s, parse_positive,
                     "seconds to retry a service that is unreachable or full [300]")
      ->type_name("S")
      ->group(group);
}

Result<> EvaluatorFlags::check(const CLI::App& verb) const {
  if (!is_remote()) return {};
  for (const Option* said : all_options()) {
    if (said->about.decided != Decided::where_it_runs) continue;
    const std::string name(said->about.flag);
    const CLI::Option* option = verb.get_option_no_throw(name);
    if (option == nullptr || option->count() == 0 || means_something_here(verb, name)) continue;
    return fail(fmt::format("the evaluator {1} decides {0} for all its clients", name, where),
                fmt::format("leave {} out and set it on `kernelwright serve` there, or judge here with "
                            "--evaluator local",
                            name));
  }
  return {};
}

void OutputFlags::add(CLI::App& app) {
  const std::string group = "Output";
  app.add_flag("--json", json, "print verdicts as JSON: one object, or one per line for several")
      ->group(group);
  CLI::Option* file =
      app.add_option("--output,-o", output, "file for verdicts as JSON lines; a repeated call continues it")
          ->type_name("F")
          ->group(group);
  add_parsed<std::optional<std::uint64_t>>(app, "--limit", limit, parse_limit,
                                           "judge only the first N candidates")
      ->type_name("N")
      ->group(group);
  app.add_flag("--dry-run", dry_run, "list the candidates and exit")->group(group);
  app.add_flag("--fail-on-incorrect", fail_on_incorrect, "exit with code 1 also if a candidate is incorrect")
      ->group(group);
  app.add_flag("--fresh", fresh, "start a new file of --output; rename the existing one")
      ->needs(file)
      ->group(group);
  CLI::Option* less = app.add_flag("--quiet,-q", quiet, "print no progress and no table")->group(group);
  app.add_flag("--verbose,-v", verbose, "print the Python, the device and the start-up time")
      ->excludes(less)
      ->group(group);
}

void RunOutputFlags::add(CLI::App& app) {
  const std::string group = "Output";
  app.add_option("--output,-o", output,
                 "file for traces as a JSON list; a repeated call continues it [reasoning_traces.json]")
      ->type_name("F.json")
      ->group(group);
  add_parsed<std::uint64_t>(
      app, "--save-interval", save_interval,
      [](const std::string& text) { return parse_whole(text, 1, 1'000'000'000); },
      "write --output after every N traces; run.db keeps the others [10]")
      ->type_name("N")
      ->group(group);
  app.add_flag("--fresh", fresh, "start a new run; rename the existing one")->group(group);
  trackers.add(app, group);
  app.add_flag("--json", json, "print the summary as JSON")->group(group);
  app.add_flag("--dry-run", dry_run, "list the tasks and exit")->group(group);
  CLI::Option* less = app.add_flag("--quiet,-q", quiet, "print no progress and no summary")->group(group);
  app.add_flag("--verbose,-v", verbose, "print a line per turn")->excludes(less)->group(group);
}

std::filesystem::path RunOutputFlags::run_folder() const {
  std::filesystem::path path(output);
  return path.replace_extension(".run");
}

}  // namespace kw
