#include "flags/deploy_flags.h"

#include <fmt/format.h>

#include "flags/parse.h"

namespace kw {
namespace {

constexpr std::uint64_t most_replicas = 100'000;

template <typename T>
Result<std::optional<T>> given(Result<T> value) {
  if (!value) return std::unexpected(value.error());
  return std::optional<T>(std::move(*value));
}

Result<Scale> parse_some(const std::string& text) {
  auto scale = parse_scale(text);
  if (scale && scale->most == 0) return fail(fmt::format("\"{}\" is none at all", text));
  return scale;
}

// What both verbs take.
void add_common(CLI::App& app, std::string& python, double& idle_s, bool& dry_run,
                std::vector<std::string>& words) {
  add_parsed<double>(app, "--idle", idle_s, parse_positive, "seconds without work that end a replica [300]")
      ->type_name("S");
  app.add_option("--python", python, "Python with what deploying needs [VIRTUAL_ENV, .venv, PATH]")
      ->type_name("PATH");
  app.add_flag("--dry-run", dry_run, "print what would be deployed, and stop");
  app.add_option("WORDS", words, "after --: further words of each replica's `kernelwright serve`");
}

}  // namespace

Result<Scale> parse_scale(const std::string& text) {
  std::size_t colon = text.find(':');
  auto least = parse_whole(text.substr(0, colon), 0, most_replicas);
  auto most = colon == std::string::npos ? least : parse_whole(text.substr(colon + 1), 0, most_replicas);
  if (!least || !most || *most < *least)
    return fail(fmt::format("\"{}\" is neither a number nor MIN:MAX", text));
  return Scale{*least, *most};
}

void DeployRayFlags::add(CLI::App& app) {
  app.add_option("--address", address, "Ray's address [the cluster that this machine belongs to]")
      ->type_name("A");
  app.add_option("--host", host, "address to listen on; beyond this machine a key is needed [127.0.0.1]")
      ->type_name("H");
  add_parsed<std::uint64_t>(
      app, "--port", port, [](const std::string& text) { return parse_whole(text, 1, 65535); },
      "port to listen on [8000]")
      ->type_name("P");
  add_parsed<std::string>(
      app, "--device", device, [](const std::string& text) { return parse_choice(text, {"cpu", "cuda"}); },
      "cuda, or cpu for replicas with logical GPUs [cuda]")
      ->type_name("D");
  add_parsed<std::optional<Scale>>(
      app, "--replicas", replicas, [](const std::string& text) { return given(parse_some(text)); },
      "replicas, a GPU each [1:as many as there are GPUs]")
      ->type_name("MIN:MAX");
  add_parsed<std::optional<std::uint64_t>>(
      app, "--cpus", cpus, [](const std::string& text) { return given(parse_whole(text, 1, 1024)); },
      "CPU cores of a replica [the node's, shared out among its GPUs, at most 12]")
      ->type_name("N");
  app.add_option("--store", store,
                 "database of evaluations, on the head node [~/.local/state/kernelwright/ray.db]")
      ->type_name("F");
  app.add_option("--api-key-file", api_key_file, "file with the key that clients must give, on the head node")
      ->type_name("F");
  add_parsed<double>(app, "--wait", wait_s, parse_positive, "seconds until a verdict must be possible [900]")
      ->type_name("S");
  add_common(app, python, idle_s, dry_run, serve_words);
}

void DeployModalFlags::add(CLI::App& app) {
  app.add_option("--gpu", gpu, "as Modal names it; ! means no other instead [H100!]")->type_name("G");
  add_parsed<Scale>(app, "--containers", containers, parse_some, "containers with a GPU [0:4]")
      ->type_name("MIN:MAX");
  add_parsed<std::uint64_t>(
      app, "--cpus", cpus, [](const std::string& text) { return parse_whole(text, 1, 64); },
      "CPU cores of a container [8]")
      ->type_name("N");
  add_parsed<std::uint64_t>(app, "--memory", memory_bytes, parse_bytes, "memory of a container [32G]")
      ->type_name("SIZE");
  app.add_option("--program", program, "tarball of `make dist`, or its folder [this one, else dist/]")
      ->type_name("PATH");
  app.add_option("--environment", environment, "Modal's environment [its default]")->type_name("NAME");
  add_common(app, python, idle_s, dry_run, serve_words);
}

void DeployFlags::add(CLI::App& app) {
  app.require_subcommand(1);
  ray.add(*app.add_subcommand("ray", "On a Ray cluster: a replica of the service for each GPU"));
  modal.add(*app.add_subcommand("modal", "On Modal: containers with a GPU each, as many as there is work"));
}

}  // namespace kw
