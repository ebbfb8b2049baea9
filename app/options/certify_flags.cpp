#include "options/certify_flags.h"

#include "options/parse.h"
#include "options/shared_flags.h"

namespace kw {

void CertifyFlags::add(CLI::App& app) {
  source.add(app);
  add_parsed<std::uint64_t>(
      app, "--seed", seed,
      [](const std::string& text) { return parse_whole(text, 0, ~std::uint64_t{0} >> 1U); },
      "seed of --shuffle [0]")
      ->type_name("N")
      ->group("Tasks");
  add_task_settings(app, settings);
  const std::string group = "Output";
  CLI::Option* file = app.add_option("--output,-o", output,
                                     "file for certificates as JSON lines; a repeated call continues it")
                          ->type_name("F")
                          ->group(group);
  app.add_flag("--fresh", fresh, "start a new file of --output; rename the existing one")
      ->needs(file)
      ->group(group);
  app.add_flag("--json", json, "print the certificates as JSON lines")->group(group);
  app.add_flag("--quiet,-q", quiet, "print no progress and no table")->group(group);
  limit_to(app.add_option_function<std::vector<std::string>>(
               "--fail-on",
               [this](const std::vector<std::string>& words) {
                 for (const std::string& word : words) fail_on.push_back(*from_string<TaskMark>(word));
               },
               "exit with code 1 also if a task has one of these marks"),
           words_of<TaskMark>())
      ->type_name("MARK")
      ->delimiter(',')
      ->allow_extra_args(false)  // the next word may be a task
      ->group(group);
}

}  // namespace kw
