#include "view.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "base/core/display.h"
#include "base/http/access.h"
#include "base/http/server.h"
#include "base/http/url.h"
#include "base/process/child.h"
#include "listening.h"
#include "report/page/shell.h"
#include "report/summary/overview.h"
#include "serve.h"
#include "session.h"
#include "verifier_source.h"
#include "version.h"
#include "view/report_model.h"
#include "view/service_source.h"
#include "view/viewer.h"

namespace kw::app {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t page_connections = 4'096;
constexpr std::size_t page_descriptors = page_connections + 1'024;

bool is_loopback_only(const ViewFlags& flags) {
  return http::is_loopback(flags.host);
}

bool is_service(const std::string& path) {
  return path.starts_with("http://") || path.starts_with("https://");
}

Result<> check_view_flags(const ViewFlags& flags) {
  if (auto named = check_names(flags.host, flags.allow_hosts); !named) return named;
  if (auto paired = flags.tls.check(); !paired) return paired;
  if (flags.paths.size() > 1 && std::ranges::any_of(flags.paths, is_service))
    return fail("a service is shown alone", "name one URL, or paths");
  if (is_service(flags.paths.front()) && flags.review)
    return fail("--review excludes a service: there is no file beside which labels could lie",
                "review a run or a file of verdicts");
  return {};
}

view::GateOptions gate_options(const ViewFlags& flags, const std::string& key) {
  view::GateOptions options;
  options.key = key;
  options.names = served_names(flags.host, flags.allow_hosts);
  options.secure = !flags.tls.certificate.empty();
  return options;
}

view::LivePage make_page(const std::string& token, bool is_folder) {
  constexpr std::string_view live = "connect-src 'self'";
  view::LivePage page;
  page.html = report::shell_begin({.title = "kernelwright view",
                                   .program_version = kw_version,
                                   .live_token = token,
                                   .policy_directives = std::string(live)});
  // Before the script, which reads it.
  constexpr std::string_view mark = "<meta name=\"kernelwright-live\"";
  if (auto at = page.html.find(mark); is_folder && at != page.html.npos)
    page.html.insert(at, "<meta name=\"kernelwright-folder\" content=\"1\">");
  page.html += report::shell_end;
  page.policy = report::content_security_policy(fmt::format("{}; frame-ancestors 'none'", live));
  return page;
}

view::ModelReader model_reader(const ViewFlags& flags) {
  return view::report_reader(
      {{.include_restricted = flags.include_restricted,
        .parquet = parquet_helper(""),
        .program_version = kw_version},
       [](const report::Index& index) { return report::to_json(report::overview_of(index)); }});
}

http::ServerOptions server_options(const ViewFlags& flags, view::Viewer& viewer) {
  http::ServerOptions options;
  options.address = address_of(flags.host);
  options.port = static_cast<std::uint16_t>(flags.port);
  options.max_body_bytes = view::ViewerOptions().most_body_bytes;
  options.max_connections = page_connections;
  options.head_timeout = 10s;
  options.body_timeout = 20s;
  options.idle_timeout = 30s;
  options.write_timeout = 30s;
  options.tls = {flags.tls.certificate, flags.tls.key};
  options.refusal = view::unread_response;
  options.turn_away = [&viewer](const http::Request& head) { return viewer.turn_away(head); };
  return options;
}

void open_browser(const std::string& url) {
  const char* opener = "xdg-open";
  auto child = process::Child::start({.arguments = {opener, url}});
  if (child)
    child->release();
  else
    fmt::print(stderr, "note: cannot start {}: {}\n", opener, child.error().what);
}

// The key that was given, or a new one where the address requires one; empty: none is needed.
struct ChosenKey {
  std::string key;
  bool is_new = false;
};

ChosenKey choose_key(const ViewFlags& flags, std::string given) {
  if (!given.empty() || is_loopback_only(flags)) return {std::move(given), false};
  return {http::random_secret(), true};
}

// The key goes to standard output alone, once.
void announce(const http::Server& server, const view::Viewer& viewer, const ViewFlags& flags,
              const ChosenKey& key) {
  const std::string url = shown_url(server, flags.host, flags.allow_hosts) + viewer.first_target();
  fmt::print("{}\n", url);
  if (key.is_new) fmt::print("key {}\n", key.key);
  std::fflush(stdout);
  if (flags.open && is_terminal(STDOUT_FILENO)) open_browser(url);
}

// The parts of a running page.
struct Page {
  Session& session;
  const ViewFlags& flags;
  ChosenKey key;
  std::unique_ptr<view::ServiceSource> service{};  // null: the inputs are files
  std::unique_ptr<view::Library> library{};
  std::unique_ptr<view::Viewer> viewer{};
  std::unique_ptr<http::Server> server{};

  Result<> open();
  Result<> listen();
  async::Task<int> serve();
  void close();
};

Result<> Page::open() {
  std::vector<std::string> paths = flags.paths;
  if (is_service(paths.front())) {
    const char* service_key = std::getenv("KERNELWRIGHT_EVALUATOR_KEY");
    auto opened = view::ServiceSource::open(session.loop, paths.front(), service_key ? service_key : "");
    if (!opened) return std::unexpected(opened.error());
    service = std::move(*opened);
    paths = {service->file().string()};
  }
  auto opened = view::Library::open(session.loop, model_reader(flags), paths);
  if (!opened) return std::unexpected(opened.error());
  library = std::move(*opened);
  view::ViewerOptions options;
  options.page = [is_folder = library->is_folder()](const std::string& token) {
    return make_page(token, is_folder);
  };
  options.review = flags.review;
  options.may_label = !service;
  viewer = std::make_unique<view::Viewer>(session.loop, *library, gate_options(flags, key.key),
                                          std::move(options));
  return {};
}

Result<> Page::listen() {
  auto listening = http::Server::listen(session.loop, server_options(flags, *viewer),
                                        [this](const http::Request& request, http::Responder& responder) {
                                          return viewer->handle(request, responder);
                                        });
  if (!listening) return std::unexpected(listening.error());
  server = std::move(*listening);
  announce(*server, *viewer, flags, key);
  return {};
}

async::Task<int> Page::serve() {
  if (service)
    if (auto fetched = co_await service->fetch(session.stop); !fetched) co_return failed(fetched.error());
  if (auto listening = listen(); !listening) co_return failed(listening.error());
  if (service)
    co_await service->follow(session.stop, complain);
  else
    co_await session.stop.wait();
  co_return 0;
}

// The coroutines of the connections end before the objects that they use.
void Page::close() {
  viewer->stop();
  if (server) server->stop();
  session.loop.restart();
  session.loop.run_for(100ms);
}

}  // namespace

int view(const ViewFlags& flags) {
  auto given = read_service_key(flags.api_key_file);
  auto good = given ? check_view_flags(flags) : Result<>(std::unexpected(given.error()));
  if (!good) {
    complain(good.error());
    return exit_usage;
  }
  allow_descriptors(page_descriptors);
  std::signal(SIGPIPE, SIG_IGN);
  Session session;
  Page page{session, flags, choose_key(flags, std::move(*given))};
  if (auto opened = page.open(); !opened) return failed(opened.error());
  int status = session.run([&page] { return page.serve(); }, [] {});
  page.close();
  return status;
}

}  // namespace kw::app
