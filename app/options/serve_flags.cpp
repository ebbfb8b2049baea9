#include "options/serve_flags.h"

#include <fmt/format.h>

#include "options/parse.h"

namespace kw {
namespace {

constexpr std::uint64_t longest_time_s = std::uint64_t{10} * 366 * 24 * 3600;

std::uint64_t seconds_in(char unit) {
  switch (unit) {
    case 's':
      return 1;
    case 'm':
      return 60;
    case 'h':
      return 3600;
    case 'd':
      return 24 * 3600;
    default:
      return 0;
  }
}

Result<std::string> parse_url(const std::string& text) {
  if (text.starts_with("http://") || text.starts_with("https://")) return text;
  return fail("\"" + text + "\" is not a URL like http://host:8471");
}

}  // namespace

Result<std::chrono::seconds> parse_time(const std::string& text) {
  std::string digits = text;
  std::uint64_t unit = text.empty() ? 0 : seconds_in(text.back());
  if (unit > 0)
    digits.pop_back();
  else
    unit = 1;
  auto number = parse_whole(digits, 0, longest_time_s / unit);
  if (number) return std::chrono::seconds(*number * unit);
  return fail("\"" + text + "\" is not a time: give seconds, or a number with s, m, h or d");
}

void ServeFlags::add(CLI::App& app) {
  const std::string group = "Service";
  app.add_option("--host", host,
                 "address to listen on; an address beyond loopback requires a key [127.0.0.1]")
      ->type_name("ADDRESS")
      ->group(group);
  add_parsed<std::uint64_t>(
      app, "--port", port, [](const std::string& text) { return parse_whole(text, 0, 65535); },
      "port; 0 takes a free port and prints it on standard output [8471]")
      ->type_name("N")
      ->group(group);
  app.add_option(
         "--store", store,
         "database of evaluations, used by one service at a time [XDG_STATE_HOME/kernelwright/service.db]")
      ->type_name("F")
      ->group(group);
  app.add_option("--api-key-file", api_key_file,
                 "file with the key that clients must send [KERNELWRIGHT_API_KEY of the environment]")
      ->type_name("F")
      ->group(group);
  app.add_option(
         "--keys", keys,
         "TOML file with keys of several owners, their tasks, rates and quotas; read again when it changes")
      ->type_name("F")
      ->group(group);
  app.add_option("--allow-host", allow_hosts,
                 "further name under which clients reach a service without a key, like a tunnel's")
      ->type_name("NAME")
      ->group(group);
  tls.add(app, group);
  add_parsed<std::uint64_t>(app, "--max-body", max_body_bytes, parse_bytes,
                            "maximum size of a request, like 64M [32M]")
      ->type_name("SIZE")
      ->group(group);
  add_parsed<double>(app, "--rate", rate, parse_positive,
                     "maximum number of requests per second from one address [no limit]")
      ->type_name("N")
      ->group(group);
  add_parsed<std::uint64_t>(
      app, "--queue", queue, [](const std::string& text) { return parse_whole(text, 1, 10'000'000); },
      "maximum number of waiting evaluations [10000]")
      ->type_name("N")
      ->group(group);
  add_parsed<std::chrono::seconds>(app, "--retention", retention, parse_time,
                                   "keep verdicts for this time, like 12h [7d]")
      ->type_name("TIME")
      ->group(group);
  add_parsed<std::chrono::seconds>(app, "--drain", drain, parse_time,
                                   "time for running evaluations to end at shutdown [15s]")
      ->type_name("TIME")
      ->group(group);
  app.add_option("--tasks", tasks,
                 "tasks that clients name by id: PATHs as for `run`, kernelbook:hub or kernelbench:hub")
      ->type_name("PATH")
      ->group(group);
  add_parsed<std::uint64_t>(
      app, "--conversations", conversations,
      [](const std::string& text) { return parse_whole(text, 1, 10'000'000); },
      "maximum number of open conversations [10000]")
      ->type_name("N")
      ->group(group);
  add_parsed<std::chrono::seconds>(app, "--conversation-ttl", conversation_ttl, parse_time,
                                   "end a conversation this long after its last verdict [1h]")
      ->type_name("TIME")
      ->group(group);
  app.add_flag("--quiet,-q", quiet, "do not log each request")->group(group);
  app.add_flag("--log-bodies", log_bodies, "log complete requests and responses, including code")
      ->excludes("--quiet")
      ->group(group);
  // Not from the environment: KERNELWRIGHT_EVALUATOR may name this service.
  add_parsed<std::string>(app, "--evaluator", evaluator, parse_url,
                          "URL of another service that judges; queue and verdicts stay here")
      ->type_name("URL")
      ->group(group);
  app.add_flag("--parent-death", parent_death, "shut down when the parent process has ended")->group(group);
}

namespace {

constexpr std::uint64_t most_replicas = 100'000;

Result<Scale> parse_some(const std::string& text) {
  auto scale = parse_scale(text);
  if (scale && scale->most == 0) return fail(fmt::format("\"{}\" has the maximum 0", text));
  return scale;
}

// The common flags of both verbs.
void add_common(CLI::App& app, std::string& python, double& idle_s, bool& dry_run,
                std::vector<std::string>& words) {
  add_parsed<double>(app, "--idle", idle_s, parse_positive,
                     "end a replica after this many seconds without work [300]")
      ->type_name("S");
  app.add_option("--python", python, "Python with the packages for deployment [VIRTUAL_ENV, .venv, PATH]")
      ->type_name("PATH");
  app.add_flag("--dry-run", dry_run, "print the deployment and exit");
  app.add_option("ARGUMENT", words, "after --: further arguments of each replica's `kernelwright serve`");
}

}  // namespace

Result<Scale> parse_scale(const std::string& text) {
  std::size_t colon = text.find(':');
  auto least = parse_whole(text.substr(0, colon), 0, most_replicas);
  auto most = colon == std::string::npos ? least : parse_whole(text.substr(colon + 1), 0, most_replicas);
  if (!least || !most || *most < *least) return fail(fmt::format("\"{}\" is not a number or MIN:MAX", text));
  return Scale{*least, *most};
}

void DeployRayFlags::add(CLI::App& app) {
  app.add_option("--address", address, "Ray's address [this machine's cluster]")->type_name("A");
  app.add_option("--host", host,
                 "address to listen on; an address beyond loopback requires a key [127.0.0.1]")
      ->type_name("H");
  add_parsed<std::uint64_t>(
      app, "--port", port, [](const std::string& text) { return parse_whole(text, 1, 65535); },
      "port to listen on [8000]")
      ->type_name("P");
  add_word<Device>(app, "--device", device, "device of replicas: cuda, or cpu for logical GPUs [cuda]")
      ->type_name("D");
  add_parsed<std::optional<Scale>>(
      app, "--replicas", replicas, [](const std::string& text) { return given(parse_some(text)); },
      "number of replicas, with one GPU each [1:number of GPUs]")
      ->type_name("MIN:MAX");
  add_parsed<std::optional<std::uint64_t>>(
      app, "--cpus", cpus, [](const std::string& text) { return given(parse_whole(text, 1, 1024)); },
      "CPU cores per replica [the node's cores divided by its GPUs, at most 12]")
      ->type_name("N");
  app.add_option("--store", store,
                 "database of evaluations on the head node [~/.local/state/kernelwright/ray.db]")
      ->type_name("F");
  app.add_option("--api-key-file", api_key_file, "file on the head node with the key that clients must send")
      ->type_name("F");
  add_parsed<double>(app, "--wait", wait_s, parse_positive,
                     "fail if the service is not ready after this many seconds [900]")
      ->type_name("S");
  add_common(app, python, idle_s, dry_run, serve_words);
}

void DeployModalFlags::add(CLI::App& app) {
  app.add_option("--gpu", gpu, "GPU by Modal's name; ! excludes substitutes [H100!]")->type_name("G");
  add_parsed<Scale>(app, "--containers", containers, parse_some,
                    "number of containers, with one GPU each [0:4]")
      ->type_name("MIN:MAX");
  add_parsed<std::uint64_t>(
      app, "--cpus", cpus, [](const std::string& text) { return parse_whole(text, 1, 64); },
      "CPU cores per container [8]")
      ->type_name("N");
  add_parsed<std::uint64_t>(app, "--memory", memory_bytes, parse_bytes, "memory per container [32G]")
      ->type_name("SIZE");
  app.add_option("--program", program,
                 "tarball of `make dist`, or its folder [this program's folder, else dist/]")
      ->type_name("PATH");
  app.add_option("--environment", environment, "Modal environment [Modal's default]")->type_name("NAME");
  add_common(app, python, idle_s, dry_run, serve_words);
}

void DeployFlags::add(CLI::App& app) {
  app.require_subcommand(1);
  ray.add(*app.add_subcommand("ray", "Deploy to a Ray cluster: one replica of the service per GPU"));
  modal.add(*app.add_subcommand("modal", "Deploy to Modal: containers with one GPU each, scaled by load"));
}

}  // namespace kw
