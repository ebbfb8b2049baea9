#include "serve.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/async/loop.h"
#include "base/core/files.h"
#include "base/core/text.h"
#include "base/http/url.h"
#include "base/process/watch.h"
#include "listening.h"
#include "options/shared_flags.h"
#include "selftest/probe.h"
#include "serve/routes.h"
#include "serve/service.h"
#include "serve_keys.h"
#include "serve_tasks.h"
#include "session.h"
#include "verifier_source.h"
#include "version.h"

namespace kw::app {
namespace {

constexpr const char* variable = "KERNELWRIGHT_API_KEY";
constexpr std::size_t largest_key_file = 4096;

Result<std::string> checked(std::string_view text, std::string_view from) {
  std::string key(trim(text));
  if (key.empty())
    return fail(fmt::format("{} contains no key", from),
                "write a long random key into it: openssl rand -hex 24");
  // The key must fit into a header.
  bool sane = std::ranges::all_of(key, [](char c) { return c > ' ' && c < 0x7f; });
  if (!sane)
    return fail(fmt::format("the key in {} has a space or a special character", from),
                "use letters and digits");
  return key;
}

}  // namespace

Result<std::string> read_service_key(const std::string& file) {
  char* value = std::getenv(variable);
  std::string from_environment = value ? value : "";
  // /proc shows the initial environment from memory, including variables that were unset later.
  if (value) std::memset(value, 0, from_environment.size());
  ::unsetenv(variable);
  if (file.empty()) return value ? checked(from_environment, variable) : Result<std::string>("");
  auto text = read_text_file(file, largest_key_file);
  if (!text) return std::unexpected(text.error());
  return checked(*text, file);
}

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr std::size_t descriptors = 16'384;  // one per connection
constexpr std::size_t least_request_memory_bytes = std::size_t{1} << 30;
constexpr auto farewell = 200ms;  // for responses in flight at the end of the service

Result<fs::path> store_path(const std::string& chosen) {
  if (!chosen.empty()) return fs::path(chosen);
  const fs::path ours = fs::path("kernelwright") / "service.db";
  if (const char* folder = std::getenv("XDG_STATE_HOME"); folder != nullptr && folder[0] == '/')
    return fs::path(folder) / ours;
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/')
    return fs::path(home) / ".local/state" / ours;
  return fail("neither XDG_STATE_HOME nor HOME is set", "name a file for evaluations with --store");
}

// Checks combinations of flags before any start.
Result<> check_serve_flags(const ServeFlags& flags, const std::string& key) {
  if (auto names = check_names(flags.host, flags.allow_hosts); !names) return names;
  if (key.empty() && flags.keys.empty() && !http::is_loopback(flags.host))
    return fail(fmt::format("--host {}: an address beyond loopback requires a key", flags.host),
                "set KERNELWRIGHT_API_KEY or give --api-key-file or --keys");
  return flags.tls.check();
}

service::Options service_options(const ServeFlags& flags, fs::path store, std::string key,
                                 std::vector<service::OwnerRules> owners, service::TaskCataloguePtr tasks) {
  service::Options options;
  options.store = std::move(store);
  options.key = std::move(key);
  options.owners = std::move(owners);
  options.names = served_names(flags.host, flags.allow_hosts);
  options.max_body_bytes = flags.max_body_bytes;
  options.queue = flags.queue;
  options.rate = flags.rate;
  options.retention = flags.retention;
  options.tasks = std::move(tasks);
  options.conversations = flags.conversations;
  options.conversation_ttl = flags.conversation_ttl;
  options.log_requests = !flags.quiet;
  options.log_bodies = flags.log_bodies;
  options.log_descriptor = STDERR_FILENO;
  options.version = kw_version;
  return options;
}

http::ServerOptions server_options(const ServeFlags& flags, const service::Service& service) {
  http::ServerOptions options;
  options.address = http::is_address(flags.host) ? flags.host : "127.0.0.1";
  options.port = static_cast<std::uint16_t>(flags.port);
  options.max_body_bytes = flags.max_body_bytes;
  options.max_request_bytes = std::max(least_request_memory_bytes, 4 * options.max_body_bytes);
  options.tls = {flags.tls.certificate, flags.tls.key};
  options.refusal = service::unread_response;
  options.turn_away = [&service](const http::Request& head) { return service.turn_away(head); };
  return options;
}

service::ServiceSetup facts_of(const VerifierSource& evaluator, const EvaluatorPlan& plan) {
  service::ServiceSetup facts;
  facts.settings = job_options(plan.settings);
  facts.probe = probe_job();
  if (const remote::ServiceInfo* there = evaluator.remote_facts()) {
    facts.device = there->device;
    facts.gpus = there->gpus;
    return facts;
  }
  facts.device = plan.local->gpus.empty() ? "cpu" : "cuda";
  for (const verify::Gpu& gpu : plan.local->gpus) facts.gpus.push_back(gpu.name);
  return facts;
}

// Requests to another service behind this one are always fresh: this service shares equal work itself.
Result<EvaluatorPlan> plan_of(const ServeOptions& options, const fs::path& store) {
  EvaluatorFlags where;
  if (!options.serve.evaluator.empty()) where.where = options.serve.evaluator;
  auto plan = plan_evaluator(where, options.settings, {.output = store.string()});
  if (plan && plan->remote) {
    plan->remote->fresh = true;
    plan->remote->follows = true;
  }
  return plan;
}

// The parts of a running service.
struct Serving {
  explicit Serving(Session& in) : session(in), told_to_end(in.loop) {
    session.on_signal = [this](const std::string&) { end(); };
  }

  // Without a verifier no job is running, so the stop takes effect at once.
  void end() {
    told_to_end.set();
    if (!verifier) session.stop.request("told to end");
  }

  Result<> end_with_parent();
  Result<> open(const ServeFlags& flags, service::Options options);
  async::Task<Result<>> judge(EvaluatorPlan plan);
  async::Task<> close(std::chrono::seconds patience);

  Session& session;
  async::Event told_to_end;
  std::unique_ptr<service::Service> service;
  std::unique_ptr<http::Server> server;
  std::unique_ptr<VerifierSource> verifier;
};

async::Task<> end_of(process::ExitWatch watch) {
  co_await watch.wait();
}

// Called before the address is printed: the parent may end as soon as it has read it.
Result<> Serving::end_with_parent() {
  auto parent = process::ExitWatch::of(session.loop, ::getppid());
  if (!parent) return std::unexpected(parent.error());
  async::spawn(session.loop, end_of(std::move(*parent)), [this](const std::exception_ptr&) { end(); });
  return {};
}

Result<> Serving::open(const ServeFlags& flags, service::Options options) {
  auto opened = service::Service::open(session.loop, session.stop, std::move(options));
  if (!opened) return std::unexpected(opened.error());
  service = std::move(*opened);
  auto listening = http::Server::listen(session.loop, server_options(flags, *service),
                                        [this](const http::Request& request, http::Responder& responder) {
                                          return service->handle(request, responder);
                                        });
  if (!listening) return std::unexpected(listening.error());
  server = std::move(*listening);
  fmt::print("{}\n", server->url());
  std::fflush(stdout);
  return {};
}

async::Task<Result<>> Serving::judge(EvaluatorPlan plan) {
  auto say = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  auto started = co_await VerifierSource::start(session.loop, session.stop, plan, say);
  if (!started) co_return std::unexpected(started.error());
  verifier = std::move(*started);
  service->judge_with(verifier->verifier(), facts_of(*verifier, plan));
  co_await told_to_end.wait();
  co_return Result<>();
}

async::Task<> Serving::close(std::chrono::seconds patience) {
  co_await service->drain(patience);
  co_await async::sleep_until(async::Deadline::in(farewell));
  server->stop();
  if (verifier) co_await verifier->end();
}

async::Task<int> run_service(Serving* serving, const ServeFlags* flags, EvaluatorPlan plan) {
  auto judged = co_await serving->judge(std::move(plan));
  co_await serving->close(judged ? flags->drain : 0s);
  if (judged || serving->told_to_end.is_set()) co_return 0;
  complain(judged.error());
  co_return exit_failure;
}

}  // namespace

void ServeOptions::add(CLI::App& app) {
  serve.add(app);
  add_settings(app, settings);
}

int serve(const ServeOptions& options) {
  auto refuse = [](const Error& error, int status) {
    complain(error);
    return status;
  };
  auto key = read_service_key(options.serve.api_key_file);
  if (!key) return refuse(key.error(), exit_usage);
  if (auto good = check_serve_flags(options.serve, *key); !good) return refuse(good.error(), exit_usage);
  KeysFile keys(options.serve.keys);
  auto owners = keys.read();
  if (!owners) return refuse(owners.error(), exit_usage);
  auto store = store_path(options.serve.store);
  if (!store) return refuse(store.error(), exit_usage);
  auto plan = plan_of(options, *store);
  if (!plan) return refuse(plan.error(), exit_failure);
  auto tasks = read_service_tasks(options.serve.tasks, options.settings.python);
  if (!tasks) return refuse(tasks.error(), exit_failure);
  if (auto owner = own_processes(); !owner) return refuse(owner.error(), exit_failure);
  allow_descriptors(descriptors);
  std::signal(SIGPIPE, SIG_IGN);  // the reader of the log may have closed its end
  Session session;
  Serving serving(session);
  if (options.serve.parent_death)
    if (auto watched = serving.end_with_parent(); !watched) return refuse(watched.error(), exit_failure);
  service::Options service =
      service_options(options.serve, *store, *key, std::move(*owners), std::move(*tasks));
  service.gradients = options.settings.backward;
  if (auto opened = serving.open(options.serve, std::move(service)); !opened)
    return refuse(opened.error(), exit_failure);
  int status = session.run(
      [&] { return run_service(&serving, &options.serve, std::move(*plan)); },
      [&] { keys.look([&](KeysFile::Owners read) { serving.service->use_owners(std::move(read)); }); });
  return serving.told_to_end.is_set() ? 0 : status;
}

}  // namespace kw::app
