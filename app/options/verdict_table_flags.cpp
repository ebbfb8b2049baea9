#include "options/verdict_table_flags.h"

#include <fmt/format.h>

#include "options/parse.h"

namespace kw {

void VerdictTableFlags::add(CLI::App& app) {
  const std::string group = "Output";
  CLI::Option* form =
      add_word<VerdictForm>(app, "--format", format,
                            "form of the verdicts on standard output: a table with explanations; sarif, a "
                            "SARIF 2.1.0 log for code scanning; github, annotations and a job summary for "
                            "GitHub's workflows [table]")
          ->group(group);
  if (CLI::Option* json = app.get_option_no_throw("--json")) form->excludes(json);
  CLI::Option* which =
      add_parsed<explain::Selection>(app, "--only", only, explain::parse_selection,
                                     "show only these verdicts in the table and below it: failed (all that "
                                     "are not correct and counting), right, wrong, a status, an error class, "
                                     "or a reason why a result does not count")
          ->type_name("WORD,...")
          ->group(group);
  CLI::Option* printed =
      app.add_flag("--show-output", show_output, "show the end of the output of each candidate's process")
          ->group(group);
  for (const char* name : {"--json", "--quiet"})
    if (CLI::Option* other = app.get_option_no_throw(name)) {
      which->excludes(other);
      printed->excludes(other);
    }
}

Result<> VerdictTableFlags::check() const {
  if (format == VerdictForm::table || (only.words.empty() && !show_output)) return {};
  return fail(fmt::format("{} belongs to the table, and --format {} prints none",
                          show_output ? "--show-output" : "--only", to_string(format)),
              "leave one of them out");
}

}  // namespace kw
