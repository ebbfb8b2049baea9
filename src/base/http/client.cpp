#include "base/http/client.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <boost/system/system_error.hpp>
#include <charconv>
#include <exception>
#include <string>

#include "base/async/wait.h"
#include "base/core/text.h"
#include "base/http/exchange.h"
#include "base/http/message.h"
#include "base/http/opener.h"

namespace kw::http {

namespace {

using Outcome = std::expected<Response, Failure>;

// The part of a request's state that outlives its cancellation.
struct Progress {
  bool answered = false;
  std::string name;           // of the server that the current hop goes to
  std::exception_ptr thrown;  // by on_body
};

std::expected<Hop, Failure> first_hop(const Request& request) {
  auto url = parse_url(request.url);
  if (!url) return failed(Fault::bad_url, url.error().what, url.error().remedy);
  if (!is_token(request.method))
    return failed(Fault::malformed, fmt::format("\"{}\" is no HTTP method", to_plain_text(request.method)));
  if (auto sane = check(request.headers); !sane)
    return failed(Fault::malformed, sane.error().what, sane.error().remedy);
  return Hop{std::move(*url), request.method, request.headers, true};
}

bool has_body_by_nature(std::string_view method) {
  return method == "POST" || method == "PUT" || method == "PATCH";
}

// A proxy for plain http receives the complete URL; a request through a tunnel is an ordinary one.
std::string head_of(const Hop& hop, std::size_t body_bytes, const std::optional<Url>& proxy,
                    const ClientOptions& options) {
  bool to_proxy = proxy && !hop.url.secure();
  Headers headers = outgoing_headers(hop.headers, hop.url.host_header(), options.user_agent);
  if (!hop.url.userinfo.empty() && header(headers, "Authorization").empty())
    headers.push_back({"Authorization", basic_credentials(hop.url.userinfo)});
  if (to_proxy && !proxy->userinfo.empty())
    headers.push_back({"Proxy-Authorization", basic_credentials(proxy->userinfo)});
  if (body_bytes > 0 || has_body_by_nature(hop.method))
    headers.push_back({"Content-Length", fmt::format("{}", body_bytes)});
  const std::string target = to_proxy ? hop.url.absolute() : hop.url.target;
  return head_text(fmt::format("{} {} HTTP/1.1", hop.method, target), headers);
}

}  // namespace

struct Client::State {
  State(async::Loop& loop, ClientOptions given)
      : options(std::move(given)), pool(options.idle_connections), opener(loop, options) {
    if (options.use_environment_proxy) proxies = proxies_from_environment();
  }

  async::Task<Outcome> run(const Request& request, const OnBody& on_body, Progress& progress);
  async::Task<Outcome> follow_all(Hop hop, const Request& request, const OnBody& on_body, Progress& progress);
  async::Task<Outcome> one(const Hop& hop, std::string_view body, const OnBody& on_body, Progress& progress);

  ClientOptions options;
  ProxySettings proxies;
  Pool pool;
  Opener opener;
};

async::Task<Outcome> Client::State::one(const Hop& hop, std::string_view body, const OnBody& on_body,
                                        Progress& progress) {
  auto proxy = proxy_for(proxies, hop.url);
  if (!proxy) co_return failed(Fault::proxy, proxy.error().what, proxy.error().remedy);
  std::string place = fmt::format("{} {}", hop.url.origin(), *proxy ? (*proxy)->origin() : "");
  auto connection = pool.take(place);
  for (bool kept = connection != nullptr;; kept = false) {
    if (!connection) {
      auto opened = co_await opener.open(hop.url, *proxy);
      if (!opened) co_return std::unexpected(opened.error());
      connection = std::move(*opened);
    }
    progress.answered = false;
    Exchange what{.connection = connection.get(),
                  .name = progress.name,
                  .head = head_of(hop, body.size(), *proxy, options),
                  .body = body,
                  .to_head = hop.method == "HEAD",
                  .on_body = on_body ? &on_body : nullptr,
                  .limits = {options.max_header_bytes, options.max_body_bytes},
                  .idle = options.idle_timeout,
                  .answered = &progress.answered};
    auto answer = co_await exchange(std::move(what));
    if (answer) {
      if (answer->reusable) pool.keep(std::move(place), std::move(connection));
      if (*proxy && !hop.url.secure() && answer->response.status == 407)
        co_return failed(Fault::proxy,
                         fmt::format("the proxy {} wants a name and a password", (*proxy)->origin()),
                         "http_proxy=http://NAME:PASSWORD@HOST:PORT gives them");
      co_return std::move(answer->response);
    }
    connection.reset();
    // The server may have closed an idle connection just before the request arrived.
    bool stale = kept && answer.error().fault == Fault::broken && !answer.error().answered;
    if (!stale) co_return std::unexpected(std::move(answer.error()));
  }
}

async::Task<Outcome> Client::State::follow_all(Hop hop, const Request& request, const OnBody& on_body,
                                               Progress& progress) {
  for (unsigned redirects = 0;; ++redirects) {
    progress.name = hop.url.origin();
    auto answer = co_await one(hop, hop.with_body ? std::string_view(request.body) : std::string_view(),
                               on_body, progress);
    if (!answer || !is_redirect(*answer)) co_return answer;
    if (redirects == options.max_redirects)
      co_return std::unexpected(
          Failure{Fault::redirected,
                  fmt::format("{} redirects once more after {} redirects", progress.name, redirects),
                  "give the address that the server means", true});
    auto next = follow(hop, *answer);
    if (!next) co_return std::unexpected(next.error());
    hop = std::move(*next);
  }
}

// Never throws, so that its end always ends the wait; an exception of on_body is kept in `progress`.
async::Task<Outcome> Client::State::run(const Request& request, const OnBody& on_body, Progress& progress) {
  try {
    auto hop = first_hop(request);
    if (!hop) co_return std::unexpected(hop.error());
    co_return co_await follow_all(std::move(*hop), request, on_body, progress);
  } catch (const boost::system::system_error& error) {
    co_return failed(Fault::broken, fmt::format("the request to {} failed: {}", progress.name, error.what()));
  } catch (...) {
    progress.thrown = std::current_exception();
    co_return failed(Fault::stopped, "");
  }
}

Client::Client(async::Loop& loop, ClientOptions options)
    : state_(std::make_unique<State>(loop, std::move(options))) {}

Client::~Client() = default;

async::Task<std::expected<Response, Failure>> Client::send(const Request& request, async::Deadline deadline,
                                                           async::Stop* stop, OnBody on_body) {
  Progress progress;
  if (stop != nullptr && stop->requested()) co_return failed(Fault::stopped, stop->cause());
  auto waited = co_await async::within(deadline, stop, state_->run(request, on_body, progress));
  if (progress.thrown) std::rethrow_exception(progress.thrown);
  if (waited.value) co_return std::move(*waited.value);
  Failure failure;
  failure.answered = progress.answered;
  if (waited.ended == async::Ended::stop) {
    failure.fault = Fault::stopped;
    failure.what = fmt::format("the request to {} was stopped: {}", progress.name, stop->cause());
  } else {
    failure.fault = Fault::timeout;
    failure.what = fmt::format("the request to {} took longer than it was given", progress.name);
    failure.remedy = "allow more time, or see whether the server is stuck";
  }
  co_return std::unexpected(std::move(failure));
}

namespace {

using std::chrono::milliseconds;

// Keeps the arithmetic within range; callers apply their own, shorter limits.
constexpr double longest_s = 365.0 * 24 * 3600;

std::optional<double> number_in(std::string_view text) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !(number >= 0)) return {};
  return std::min(number, longest_s * 1000);
}

// "Fri, 31 Dec 1999 23:59:59 GMT".
std::optional<std::chrono::system_clock::time_point> date_in(const std::string& text) {
  tm parts{};
  const char* end = ::strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (!end || *end != '\0') return {};
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

milliseconds up_to(milliseconds most, std::mt19937_64& random) {
  return milliseconds(std::uniform_int_distribution<long>(0, std::max<long>(most.count(), 0))(random));
}

}  // namespace

milliseconds Backoff::next(std::optional<milliseconds> wished, std::mt19937_64& random) {
  unsigned doubled = std::min(tries_++, 20U);
  milliseconds most = std::min(options_.first * (1L << doubled), options_.most);
  if (!wished) return up_to(most, random);
  return std::min(*wished, 4 * options_.most) + up_to(std::min(most, options_.first), random);
}

std::optional<milliseconds> retry_after(const http::Headers& headers,
                                        std::chrono::system_clock::time_point now) {
  if (auto ms = number_in(trim(http::header(headers, "retry-after-ms"))))
    return milliseconds(static_cast<long>(*ms));
  std::string text(trim(http::header(headers, "retry-after")));
  if (text.empty()) return {};
  if (auto seconds = number_in(text)) return milliseconds(static_cast<long>(*seconds * 1000));
  auto date = date_in(text);
  if (!date) return {};
  return std::max(std::chrono::duration_cast<milliseconds>(*date - now), milliseconds(0));
}

}  // namespace kw::http
