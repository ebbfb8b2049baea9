#include "options/verdict_table_flags.h"

#include "options/parse.h"

namespace kw {

void VerdictTableFlags::add(CLI::App& app) {
  const std::string group = "Output";
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

}  // namespace kw
