#include "models.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "base/core/files.h"
#include "model_servers/table.h"
#include "options/parse.h"
#include "session.h"

namespace kw::app {
namespace {

using models::Checkpoint;
using models::ModelServer;

constexpr unsigned size_share_percent = 120;  // the weights and a fifth for the cache

std::vector<std::string> name_words() {
  std::vector<std::string> words;
  for (const ModelServer& server : models::model_servers()) words.emplace_back(server.name);
  return words;
}

// "106 B"; empty if unknown.
std::string billions(double count) {
  return count > 0 ? fmt::format("{} B", count) : "";
}

void list_servers() {
  constexpr const char* row = "{:<14} {:<12} {:<11} {:<7} {:<5} {:<10} {:<9} {:<28} {}\n";
  fmt::print(row, "name", "architecture", "parameters", "active", "GPUs", "precision", "weights", "script",
             "model");
  for (const ModelServer& server : models::model_servers())
    for (const Checkpoint& checkpoint : server.checkpoints)
      fmt::print(row, checkpoint.option.empty() ? server.name : "", server.architecture,
                 billions(server.parameters_b), billions(server.active_b), server.gpus(), server.precision,
                 fmt::format("{} GiB", server.weights_gib),
                 checkpoint.option.empty() ? "scripts/" + server.script : "  " + checkpoint.option,
                 checkpoint.repository);
}

void show(const ModelServer& server) {
  fmt::print("{}, {}, {} GPUs of {} GiB or more each\n", server.title, server.precision, server.gpus(),
             server.weights_gib * size_share_percent / 100 / server.gpus());
  fmt::print("{}: {} parameters, {} of them active for each token\n", server.architecture,
             billions(server.parameters_b), billions(server.active_b));
  fmt::print("reasoning: {}\n{}\n", server.reasoning, server.note);
  for (const Checkpoint& checkpoint : server.checkpoints) {
    if (!checkpoint.option.empty()) fmt::print("with {}:\n", checkpoint.option);
    fmt::print("  {}\n", models::serve_line(server, checkpoint));
  }
  fmt::print("script: scripts/{}, or `kernelwright models script {}`; flags checked against vLLM {}\n",
             server.script, server.name, models::checked_vllm);
}

Result<> write_script(const ModelServer& server, const std::string& output) {
  std::string text = models::server_script(server);
  if (output.empty()) {
    fmt::print("{}", text);
    return {};
  }
  if (auto written = write_file(output, text); !written) return written;
  using std::filesystem::perms;
  std::error_code error;
  std::filesystem::permissions(output, perms::owner_exec | perms::group_exec | perms::others_exec,
                               std::filesystem::perm_options::add, error);
  if (error) return fail(fmt::format("cannot make {} executable: {}", output, error.message()));
  return {};
}

}  // namespace

void add_models(CLI::App& app, ModelsOptions& options) {
  app.require_subcommand(1);
  auto verb = [&](const std::string& word, ModelsOptions::Action action, const std::string& help) {
    CLI::App* sub = app.add_subcommand(word, help);
    sub->callback([&options, action] { options.action = action; });
    if (action != ModelsOptions::Action::list)
      with_words(sub->add_option("NAME", options.name, "name from `list`")->required(), name_words());
    return sub;
  };
  verb("list", ModelsOptions::Action::list, "List the known model servers");
  verb("show", ModelsOptions::Action::show, "Print the requirements and the launch command of a server");
  verb("script", ModelsOptions::Action::script,
       "Write a script that checks the machine and starts the server")
      ->add_option("--output,-o", options.output, "executable file to write [standard output]")
      ->type_name("F");
}

int models(const ModelsOptions& options) {
  if (options.action == ModelsOptions::Action::list) {
    list_servers();
    return 0;
  }
  const ModelServer* server = models::find_model(options.name);
  if (server == nullptr)
    return failed({fmt::format("there is no model server \"{}\"", options.name),
                   fmt::format("we know {}", fmt::join(name_words(), ", "))});
  if (options.action == ModelsOptions::Action::show) {
    show(*server);
    return 0;
  }
  if (auto written = write_script(*server, options.output); !written) return failed(written.error());
  return 0;
}

}  // namespace kw::app
