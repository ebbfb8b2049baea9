#include "options/mcp_flags.h"

#include <optional>

#include "options/parse.h"

namespace kw {
namespace {

// "hub@REVISION" for "kernelbench@REVISION"; nothing for other words.
std::optional<std::string> hub_name(const std::string& word, const std::string& name) {
  if (word != name && !word.starts_with(name + "@")) return {};
  return "hub" + word.substr(name.size());
}

}  // namespace

TaskSelection tasks_of(const std::vector<std::string>& sources) {
  TaskSelection selection;
  selection.kernelbook_samples = selection.kernelbench_samples = 1'000'000;
  for (const std::string& word : sources)
    if (auto bench = hub_name(word, "kernelbench"))
      selection.kernelbench = *bench;
    else if (auto book = hub_name(word, "kernelbook"))
      selection.kernelbook = *book;
    else
      selection.paths.push_back(word);
  return selection;
}

void McpFlags::add(CLI::App& app) {
  const std::string offered = "Offer";
  app.add_option("--tasks", tasks,
                 "tasks to offer: a source that `run` takes (references, a batch, traces, KernelBook, "
                 "KernelBench), or the word kernelbench or kernelbook for the hub's")
      ->type_name("SOURCE")
      ->expected(1, 1'000)
      ->group(offered);
  add_word<refine::PromptStyle>(app, "--prompt-style", style,
                                "form of the code that get_task asks for: triton_kernel_wrapper or ModelNew "
                                "[wrapper]")
      ->group(offered);
  app.add_option("--root", root,
                 "folder whose files agents may name instead of sending their text [agents send text]")
      ->type_name("DIR")
      ->group(offered);
  app.add_flag("--quiet,-q", quiet, "do not log each call on standard error")->group(offered);
  const std::string server = "Server";
  CLI::Option* over_http =
      app.add_flag("--http", http, "serve over HTTP at /mcp [standard input and output, for one client]")
          ->group(server);
  app.add_option("--host", host,
                 "address to listen on; an address beyond loopback requires a key [127.0.0.1]")
      ->type_name("ADDRESS")
      ->needs(over_http)
      ->group(server);
  add_parsed<std::uint64_t>(
      app, "--port", port, [](const std::string& text) { return parse_whole(text, 0, 65535); },
      "port; 0 takes a free port. The URL is printed on standard output [8473]")
      ->type_name("N")
      ->needs(over_http)
      ->group(server);
  app.add_option("--api-key-file", api_key_file,
                 "file with the key that clients must send [KERNELWRIGHT_API_KEY of the environment]")
      ->type_name("F")
      ->needs(over_http)
      ->group(server);
  app.add_option("--allow-host", allow_hosts,
                 "a further name under which clients reach this server, such as that of a proxy")
      ->type_name("NAME")
      ->needs(over_http)
      ->group(server);
  tls.add(app, server);
  add_settings(app, settings);
  evaluator.add(app);
}

}  // namespace kw
