#include "deploy.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <optional>
#include <string_view>

#include "base/core/json.h"
#include "evaluators.h"
#include "session.h"
#include "train/job/session.h"

namespace kw::app {
namespace {

namespace json = boost::json;

constexpr int mib_shift = 20;

struct Target {
  std::string name;    // of the evaluator
  std::string module;  // of the Python package, which deploys
  json::object request;
  std::string python;
  bool dry_run = false;
};

// The child's report: a URL, a plan or an error.
struct Deployment {
  std::optional<std::string> url;
  std::optional<std::string> plan;
  std::optional<Error> error;
};

json::array array_of(const std::vector<std::string>& words) {
  json::array all;
  for (const std::string& word : words) all.emplace_back(word);
  return all;
}

Target target_of(const DeployRayFlags& flags) {
  json::object settings{{"device", to_string(flags.device)}, {"downscale_delay_s", flags.idle_s}};
  settings["words"] = array_of(flags.serve_words);
  if (flags.replicas) {
    settings["min_replicas"] = flags.replicas->least;
    settings["max_replicas"] = flags.replicas->most;
  }
  if (flags.cpus) settings["cpus"] = *flags.cpus;
  if (!flags.store.empty()) settings["store"] = flags.store;
  if (!flags.api_key_file.empty()) settings["api_key_file"] = flags.api_key_file;
  json::object request{{"address", flags.address},
                       {"http", {{"host", flags.host}, {"port", flags.port}}},
                       {"wait_s", flags.wait_s},
                       {"dry_run", flags.dry_run}};
  request["settings"] = std::move(settings);
  return {"ray", "kernelwright._fleet.deploy_ray", std::move(request), flags.python, flags.dry_run};
}

Target target_of(const DeployModalFlags& flags) {
  json::object settings{{"gpu", flags.gpu},
                        {"cpu", flags.cpus},
                        {"memory_mb", flags.memory_bytes >> mib_shift},
                        {"min_containers", flags.containers.least},
                        {"max_containers", flags.containers.most},
                        {"scaledown_window_s", static_cast<std::int64_t>(flags.idle_s)}};
  settings["words"] = array_of(flags.serve_words);
  json::object request{
      {"program", flags.program}, {"environment", flags.environment}, {"dry_run", flags.dry_run}};
  request["settings"] = std::move(settings);
  return {"modal", "kernelwright._fleet.deploy_modal", std::move(request), flags.python, flags.dry_run};
}

void heed(Deployment& told, std::string_view line) {
  auto event = parse_json(line);
  if (!event || !event->is_object()) return;
  const json::object& found = event->get_object();
  if (auto url = string_at(found, "url")) told.url = url;
  if (auto plan = string_at(found, "plan")) told.plan = plan;
  if (const json::value* error = found.if_contains("error"); error != nullptr && error->is_object())
    told.error = Error{string_at(error->get_object(), "what").value_or("it failed"),
                       string_at(error->get_object(), "remedy").value_or("")};
}

// Empty after an interruption.
Result<std::optional<Deployment>> run(const Target& target) {
  auto python = python_child(target.python);
  if (!python) return std::unexpected(python.error());
  process::Command command;
  command.arguments = {python->program, "-P", "-m", target.module, json::serialize(target.request)};
  command.environment = python->environment;
  command.output = STDERR_FILENO;
  Deployment told;
  auto ending = training::run_child(command, {[&](std::string_view line) { heed(told, line); }, [](bool) {}});
  if (!ending) return std::unexpected(ending.error());
  if (ending->interrupted) return std::nullopt;
  if (told.error) return std::unexpected(*told.error);
  if (ending->by_signal || ending->status != 0 || (!told.url && !told.plan))
    return fail(fmt::format("{} exited before the deployment was complete", target.module),
                "its output above has the reason");
  return told;
}

Result<> keep(const Target& target, const std::string& url) {
  auto file = evaluators_file();
  if (!file) return std::unexpected(file.error());
  return keep_evaluator(*file, target.name, url);
}

int outcome_of(const Target& target) {
  auto told = run(target);
  if (!told) return failed(told.error());
  if (!*told) return exit_interrupted;
  if (target.dry_run) {
    fmt::print("{}\n", (*told)->plan.value_or(""));
    return 0;
  }
  fmt::print("{}\n", (*told)->url.value_or(""));
  if (auto kept = keep(target, (*told)->url.value_or("")); !kept) return failed(kept.error());
  fmt::print(stderr, "`--evaluator {}` now uses it\n", target.name);
  return 0;
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace

int deploy(const DeployFlags& flags, const CLI::App& verb) {
  if (verb.got_subcommand("modal")) return outcome_of(target_of(flags.modal));
  if (!is_loopback(flags.ray.host) && flags.ray.api_key_file.empty()) {
    complain({fmt::format("--host {} is beyond loopback and requires a key", flags.ray.host),
              "give --api-key-file FILE with a long random key in it"});
    return exit_usage;
  }
  return outcome_of(target_of(flags.ray));
}

}  // namespace kw::app
