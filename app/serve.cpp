#include "serve.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "async/spawn.h"
#include "evaluator.h"
#include "flags/setting_flags.h"
#include "http/url.h"
#include "probe/probe.h"
#include "process/exit_watch.h"
#include "remote_options.h"
#include "serve_key.h"
#include "service/responses.h"
#include "service/service.h"
#include "session.h"
#include "version.h"

namespace kw::app {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr std::size_t descriptors = 16'384;  // a connection each
constexpr auto farewell = 200ms;             // for answers that are on their way when the service ends

Result<fs::path> store_path(const std::string& chosen) {
  if (!chosen.empty()) return fs::path(chosen);
  const fs::path ours = fs::path("kernelwright") / "service.db";
  if (const char* folder = std::getenv("XDG_STATE_HOME"); folder != nullptr && folder[0] == '/')
    return fs::path(folder) / ours;
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/')
    return fs::path(home) / ".local/state" / ours;
  return fail("neither XDG_STATE_HOME nor HOME says where evaluations are kept", "name a file with --store");
}

// What the flags say together, before anything is started.
Result<> check(const ServeFlags& flags, const std::string& key) {
  if (!http::is_address(flags.host) && !http::is_loopback(flags.host))
    return fail(fmt::format("--host {}: that is no address", flags.host),
                "give an address of this machine, like 127.0.0.1, 0.0.0.0 or ::");
  if (key.empty() && !http::is_loopback(flags.host))
    return fail(
        fmt::format("--host {}: without a key, anybody who reaches it could run code here", flags.host),
        "set KERNELWRIGHT_API_KEY or give --api-key-file");
  if (flags.tls_certificate.empty() != flags.tls_key.empty())
    return fail("--tls-cert and --tls-key belong together", "give both, or neither");
  return {};
}

service::Options service_options(const ServeFlags& flags, fs::path store, std::string key) {
  service::Options options;
  options.store = std::move(store);
  options.key = std::move(key);
  options.max_body_bytes = flags.max_body_bytes;
  options.queue = flags.queue;
  options.rate = flags.rate;
  options.retention = flags.retention;
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
  options.tls = {flags.tls_certificate, flags.tls_key};
  options.refusal = service::unread_response;
  options.turn_away = [&service](const http::Request& head) { return service.turn_away(head); };
  return options;
}

service::Facts facts_of(const Evaluator& evaluator, const EvaluatorPlan& plan) {
  service::Facts facts;
  facts.settings = job_options(plan.settings);
  facts.probe = probe_job();
  if (const remote::Facts* there = evaluator.remote_facts()) {
    facts.device = there->device;
    facts.gpus = there->gpus;
    return facts;
  }
  facts.device = plan.local->gpus.empty() ? "cpu" : "cuda";
  for (const verify::Gpu& gpu : plan.local->gpus) facts.gpus.push_back(gpu.name);
  return facts;
}

// With another service behind this one, what is asked of that is always fresh: equal work is shared here.
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

// All that a service consists of, from its store to its socket.
struct Serving {
  explicit Serving(Session& in) : session(in), told_to_end(in.loop) {
    session.on_signal = [this](const std::string&) { end(); };
  }

  // Before there is a verifier nothing is worth waiting for.
  void end() {
    told_to_end.set();
    if (!verifier) session.stop.request("told to end");
  }

  async::Task<> watch_parent();
  Result<> open(const ServeFlags& flags, service::Options options);
  async::Task<Result<>> judge(EvaluatorPlan plan);
  async::Task<> close(std::chrono::seconds patience);

  Session& session;
  async::Event told_to_end;
  std::unique_ptr<service::Service> service;
  std::unique_ptr<http::Server> server;
  std::unique_ptr<Evaluator> verifier;
};

async::Task<> Serving::watch_parent() {
  auto watch = process::ExitWatch::of(session.loop, ::getppid());
  if (watch) co_await watch->wait();
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
  auto started = co_await Evaluator::start(session.loop, session.stop, plan, say);
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
  if (auto good = check(options.serve, *key); !good) return refuse(good.error(), exit_usage);
  auto store = store_path(options.serve.store);
  if (!store) return refuse(store.error(), exit_usage);
  auto plan = plan_of(options, *store);
  if (!plan) return refuse(plan.error(), exit_failure);
  if (auto owner = own_processes(); !owner) return refuse(owner.error(), exit_failure);
  allow_descriptors(descriptors);
  std::signal(SIGPIPE, SIG_IGN);  // whoever read our log may be gone
  Session session;
  Serving serving(session);
  if (auto opened = serving.open(options.serve, service_options(options.serve, *store, *key)); !opened)
    return refuse(opened.error(), exit_failure);
  if (options.serve.parent_death)
    async::spawn(session.loop, serving.watch_parent(), [&](const std::exception_ptr&) { serving.end(); });
  int status = session.run([&] { return run_service(&serving, &options.serve, std::move(*plan)); }, [] {});
  return serving.told_to_end.is_set() ? 0 : status;
}

}  // namespace kw::app
