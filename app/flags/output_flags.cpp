#include "flags/output_flags.h"

#include "flags/parse.h"

namespace kw {
namespace {

Result<std::optional<std::uint64_t>> parse_limit(const std::string& text) {
  auto count = parse_whole(text, 1, UINT64_MAX);
  if (!count) return std::unexpected(count.error());
  return *count;
}

}  // namespace

void OutputFlags::add(CLI::App& app) {
  const std::string group = "Output";
  app.add_flag("--json", json, "verdicts on standard output: one object, or one a line for many")
      ->group(group);
  CLI::Option* file = app.add_option("--output", output, "verdicts as JSON lines; run again, it goes on")
                          ->type_name("F")
                          ->group(group);
  add_parsed<std::optional<std::uint64_t>>(app, "--limit", limit, parse_limit, "only the first N candidates")
      ->type_name("N")
      ->group(group);
  app.add_flag("--dry-run", dry_run, "say what would be judged, and stop")->group(group);
  app.add_flag("--fail-on-incorrect", fail_on_incorrect, "exit 1 also when a candidate is wrong")
      ->group(group);
  app.add_flag("--fresh", fresh, "start --output anew")->needs(file)->group(group);
  CLI::Option* less = app.add_flag("--quiet,-q", quiet, "no progress and no table")->group(group);
  app.add_flag("--verbose,-v", verbose, "say which Python and device are used, and when they are ready")
      ->excludes(less)
      ->group(group);
}

}  // namespace kw
