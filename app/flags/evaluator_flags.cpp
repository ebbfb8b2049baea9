#include "flags/evaluator_flags.h"

#include <fmt/format.h>

#include "flags/parse.h"
#include "schema/options.h"

namespace kw {
namespace {

// `score` compiles some outputs here, whoever judges, and its baseline is another run.
bool means_something_here(const CLI::App& verb, const std::string& name) {
  return verb.get_name() == "score" && (name == "--allow-unsandboxed" || name == "--baseline");
}

}  // namespace

Result<std::string> parse_evaluator(const std::string& text) {
  if (text == "local" || text == "modal" || text == "ray") return text;
  if (text.starts_with("http://") || text.starts_with("https://")) return text;
  return fail(fmt::format("\"{}\" is none of local, modal, ray, and no URL like http://host:8900", text));
}

void EvaluatorFlags::add(CLI::App& app) {
  const std::string group = "Engine";
  add_parsed<std::string>(app, "--evaluator", where, parse_evaluator,
                          "who judges: local, modal, ray, or the URL of a service [local]")
      ->type_name("WHERE")
      ->envname("KERNELWRIGHT_EVALUATOR")
      ->group(group);
  add_parsed<double>(app, "--evaluator-patience", patience_s, parse_positive,
                     "seconds that a service may be away, or have no room [300]")
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
    return fail(fmt::format("{} is what the evaluator {} decides for all who ask it", name, where),
                fmt::format("leave {} out and give it to `kernelwright serve` there, or judge here with "
                            "--evaluator local",
                            name));
  }
  return {};
}

}  // namespace kw
