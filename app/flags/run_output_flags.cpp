#include "flags/run_output_flags.h"

#include "flags/parse.h"

namespace kw {

void RunOutputFlags::add(CLI::App& app) {
  const std::string group = "Output";
  app.add_option("--output", output, "traces, as a JSON list; run again, it goes on [reasoning_traces.json]")
      ->type_name("F.json")
      ->group(group);
  add_parsed<std::uint64_t>(
      app, "--save-interval", save_interval,
      [](const std::string& text) { return parse_whole(text, 1, 1'000'000'000); },
      "write --output whenever N traces have ended [10]; nothing is lost between")
      ->type_name("N")
      ->group(group);
  app.add_flag("--fresh", fresh, "start anew; the run that was there is kept aside")->group(group);
  app.add_flag("--json", json, "the summary as JSON on standard output")->group(group);
  app.add_flag("--dry-run", dry_run, "list the tasks, and stop")->group(group);
  CLI::Option* less = app.add_flag("--quiet,-q", quiet, "no progress and no summary")->group(group);
  app.add_flag("--verbose,-v", verbose, "a line for every turn")->excludes(less)->group(group);
}

std::filesystem::path RunOutputFlags::run_folder() const {
  std::filesystem::path path(output);
  return path.replace_extension(".run");
}

}  // namespace kw
