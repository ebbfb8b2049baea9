#include "options/view_flags.h"

#include "options/parse.h"

namespace kw {

void ViewFlags::add(CLI::App& app) {
  app.add_option("PATH", paths,
                 "runs, files of traces or verdicts, scores, data sets; one folder that contains any of "
                 "these; or the URL of a service")
      ->required();
  const std::string group = "Server";
  app.add_option("--host", host,
                 "address to listen on; one beyond loopback requires a key, which the program makes and "
                 "prints if none is given [127.0.0.1]")
      ->type_name("ADDRESS")
      ->group(group);
  add_parsed<std::uint64_t>(
      app, "--port", port, [](const std::string& text) { return parse_whole(text, 0, 65535); },
      "port; 0 takes a free port. The URL is printed on standard output [8472]")
      ->type_name("N")
      ->group(group);
  app.add_option("--api-key-file", api_key_file,
                 "file with the key that opens the page [KERNELWRIGHT_API_KEY of the environment]")
      ->type_name("F")
      ->group(group);
  app.add_option("--allow-host", allow_hosts,
                 "a further name under which browsers reach this server, such as that of a proxy")
      ->type_name("NAME")
      ->group(group);
  tls.add(app, group);
  app.add_flag("--open", open, "open the page in a browser if standard output is a terminal")->group(group);
  const std::string page = "Page";
  add_review_count(app, "open a queue of N drawn answers for human review [100 answers]",
                   [this](std::uint64_t count) { review = count; })
      ->group(page);
  app.add_flag("--include-restricted", include_restricted,
               "also show rows under licences that are not permissive")
      ->group(page);
}

}  // namespace kw
