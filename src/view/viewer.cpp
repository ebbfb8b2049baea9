#include "view/viewer.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/json/serialize.hpp>
#include <map>

#include "base/core/text.h"
#include "base/core/words.h"
#include "view/page.h"
#include "view/review_desk.h"
#include "view/search.h"

namespace kw::view {
namespace {

using namespace std::chrono_literals;
namespace json = boost::json;

constexpr auto look_pause = 500ms;  // between looks at the inputs
constexpr auto interest = 10s;      // after the last request, the inputs are no longer looked at
constexpr std::size_t longest_search_text = 1'000;
constexpr std::size_t most_hits = 10'000;
constexpr std::size_t most_drawn = 100'000;

GateError refusal_of(const Error& error, int status) {
  return {status, status >= 500 ? "unavailable" : "invalid",
          error.remedy.empty() ? error.what : fmt::format("{}; {}", error.what, error.remedy)};
}

GateError no_such(std::string_view what) {
  return {404, "unknown", fmt::format("no such {}", what)};
}

// One of a limited number of slots, given back at the end of its scope.
class Slot {
 public:
  Slot(std::size_t& taken, std::size_t most) : taken_(taken), has_(taken < most) { taken_ += has_; }
  Slot(const Slot&) = delete;
  ~Slot() { taken_ -= has_; }
  explicit operator bool() const { return has_; }

 private:
  std::size_t& taken_;
  bool has_;
};

// One request, with its path and its query apart.
struct Asked {
  const http::Request& request;
  http::Responder& responder;
  std::string_view path;
  std::string_view query;

  std::optional<std::string> value(std::string_view name) const { return form_value(query, name); }
  Result<std::uint64_t> number(std::string_view name, std::uint64_t normally, std::uint64_t most) const {
    auto text = value(name);
    return text ? parse_whole(*text, 0, most) : normally;
  }
};

std::string changed_event(const Edition& edition) {
  json::object data{{"version", edition.version}, {"rows", edition.rows.size()}, {"state", edition.state}};
  return fmt::format("event: changed\nid: {}\ndata: {}\n\n", edition.version, json::serialize(data));
}

ReviewDesk desk_of(const Live& live) {
  std::vector<std::filesystem::path> logs;
  for (const std::string& path : live.paths()) logs.push_back(review_log_path(path));
  return ReviewDesk(std::move(logs));
}

http::Response busy() {
  return refusal_response({503, "busy", "too many requests are under way"});
}

}  // namespace

std::optional<std::string> form_value(std::string_view form, std::string_view name) {
  auto decoded = [](std::string_view text) {
    std::string plain(text);
    std::ranges::replace(plain, '+', ' ');
    return percent_decoded(plain);
  };
  while (!form.empty()) {
    std::string_view pair = form.substr(0, form.find('&'));
    form.remove_prefix(std::min(form.size(), pair.size() + 1));
    std::size_t equals = std::min(pair.find('='), pair.size());
    if (decoded(pair.substr(0, equals)) == name)
      return decoded(pair.substr(std::min(pair.size(), equals + 1)));
  }
  return {};
}

// Shared with the coroutines, which may end after the Viewer.
struct Viewer::State : std::enable_shared_from_this<Viewer::State> {
  State(async::Loop& on, Library& of, GateOptions given, ViewerOptions chosen)
      : loop(on), library(of), gate(std::move(given)), options(std::move(chosen)) {}

  // Of the page that opens first.
  std::string fragment() const {
    return options.review ? fmt::format("#/review?count={}", *options.review) : std::string();
  }
  async::Task<> answer(Asked asked);
  async::Task<http::Response> response_to(const Asked& asked);
  async::Task<http::Response> response_of(const Asked& asked, std::shared_ptr<Live> live);
  http::Response page_response(const Asked& asked);
  http::Response enter(const Asked& asked);
  async::Task<http::Response> index(const Asked& asked, std::shared_ptr<Live> live);
  async::Task<http::Response> detail(const Asked& asked, std::shared_ptr<Live> live);
  async::Task<http::Response> review_queue(const Asked& asked, std::shared_ptr<Live> live);
  async::Task<http::Response> store_label(const Asked& asked, std::shared_ptr<Live> live);
  async::Task<http::Response> runs();
  async::Task<> events(const Asked& asked, std::shared_ptr<Live> live);
  async::Task<> search(const Asked& asked, std::shared_ptr<Live> live);
  async::Task<std::expected<std::shared_ptr<Live>, GateError>> live_of(const Asked& asked);
  static async::Task<> keep_looking(std::shared_ptr<State> state);

  async::Loop& loop;
  Library& library;
  Gate gate;
  ViewerOptions options;
  LivePage page;
  std::size_t streams = 0;
  std::size_t under_way = 0;
  async::SteadyClock::time_point last_request{};
  bool stopped = false;
};

http::Response Viewer::State::page_response(const Asked& asked) {
  if (auto ticket = asked.value("ticket"))
    if (auto cookie = gate.exchange_ticket(*ticket)) return welcome(*cookie, fragment());
  if (!gate.is_known(asked.request)) return key_form(false);
  return {200,
          {{"Content-Type", "text/html; charset=utf-8"}, {"Content-Security-Policy", page.policy}},
          page.html};
}

http::Response Viewer::State::enter(const Asked& asked) {
  auto key = form_value(asked.request.body, "key");
  auto cookie = key ? gate.exchange_key(trim(*key), asked.request.peer) : std::nullopt;
  return cookie ? welcome(*cookie, fragment()) : key_form(true);
}

async::Task<http::Response> Viewer::State::runs() {
  if (!library.is_folder()) co_return json_response(200, json::value());
  auto runs = co_await library.runs();
  if (!runs) co_return refusal_response(refusal_of(runs.error(), 500));
  co_return json_response(200, *runs);
}

async::Task<std::expected<std::shared_ptr<Live>, GateError>> Viewer::State::live_of(const Asked& asked) {
  auto live = co_await library.find(asked.value("run").value_or(""));
  if (!live) co_return std::unexpected(refusal_of(live.error(), 500));
  if (!*live)
    co_return std::unexpected(library.is_folder() && !asked.value("run")
                                  ? GateError{400, "invalid", "name a run of GET /api/runs with ?run=PATH"}
                                  : no_such("run"));
  co_return *live;
}

async::Task<http::Response> Viewer::State::index(const Asked& asked, std::shared_ptr<Live> live) {
  auto edition = co_await live->edition();
  if (!edition) co_return refusal_response(refusal_of(edition.error(), 500));
  http::Headers headers = {{"Content-Type", "application/json"}, {"ETag", (*edition)->etag}};
  if (http::header(asked.request.headers, "If-None-Match") == (*edition)->etag)
    co_return http::Response{304, std::move(headers), ""};
  co_return http::Response{200, std::move(headers), (*edition)->index};
}

async::Task<http::Response> Viewer::State::detail(const Asked& asked, std::shared_ptr<Live> live) {
  auto key = asked.value("key");
  if (!key) co_return refusal_response({400, "invalid", "?key=KEY is missing"});
  using Found = std::optional<std::string>;
  auto found = co_await live->ask<Found>([key = *key](Model& model) { return model.detail(key); });
  if (!found) co_return refusal_response(refusal_of(found.error(), 500));
  if (!*found) co_return refusal_response(no_such("row"));
  co_return json_response(200, std::move(**found));
}

async::Task<http::Response> Viewer::State::review_queue(const Asked& asked, std::shared_ptr<Live> live) {
  QueueRequest request;
  request.reviewer = asked.value("reviewer").value_or("");
  auto count = asked.number("count", options.review.value_or(100), most_drawn);
  auto seed = asked.number("seed", 42, ~std::uint64_t{0} >> 1U);
  if (!count || !seed) co_return refusal_response(refusal_of(count ? seed.error() : count.error(), 400));
  request.count = *count;
  request.seed = *seed;
  auto edition = co_await live->edition();
  if (!edition) co_return refusal_response(refusal_of(edition.error(), 500));
  auto queue = co_await live->ask<json::object>(
      [edition = *edition, request, desk = desk_of(*live)](Model&) { return desk.queue(*edition, request); });
  if (!queue) co_return refusal_response(refusal_of(queue.error(), 500));
  co_return json_response(200, *queue);
}

async::Task<http::Response> Viewer::State::store_label(const Asked& asked, std::shared_ptr<Live> live) {
  auto request = read_label(asked.request.body);
  if (!request) co_return refusal_response(refusal_of(request.error(), 400));
  auto edition = co_await live->edition();
  if (!edition) co_return refusal_response(refusal_of(edition.error(), 500));
  if (std::ranges::find((*edition)->rows, request->key, &RowFacts::key) == (*edition)->rows.end())
    co_return refusal_response(no_such("row"));
  auto stored = co_await live->ask<void>(
      [edition = *edition, request = *request, desk = desk_of(*live)](Model& model) -> Result<> {
        auto detail = model.detail(request.key);
        if (!detail) return std::unexpected(detail.error());
        if (!*detail) return fail("the row has no detail");
        auto shown = shown_answer(**detail);
        if (!shown) return std::unexpected(shown.error());
        return desk.store(*edition, request, shown->answer);
      });
  if (!stored) co_return refusal_response(refusal_of(stored.error(), 500));
  live->hurry();
  co_return json_response(200, json::object{{"stored", true}});
}

async::Task<> Viewer::State::events(const Asked& asked, std::shared_ptr<Live> live) {
  auto edition = co_await live->edition();
  if (!edition)
    co_return co_await asked.responder.send(secured(refusal_response(refusal_of(edition.error(), 500))));
  co_await asked.responder.begin(secured({200, {{"Content-Type", "text/event-stream"}}, ""}));
  bool goes_on = co_await asked.responder.write("retry: 2000\n\n" + changed_event(**edition));
  std::uint64_t told = (*edition)->version;
  const auto wait = std::min<std::chrono::milliseconds>(look_pause * 4, options.heartbeat);
  auto heartbeat = async::Deadline::in(options.heartbeat);
  while (goes_on && !stopped && !live->is_stopped()) {
    using namespace boost::asio::experimental::awaitable_operators;
    last_request = async::SteadyClock::now();
    co_await (live->newer_than(told, async::Deadline::in(wait)) || asked.responder.until_gone());
    auto newest = co_await live->edition();
    const bool is_new = newest && (*newest)->version > told;
    goes_on = !asked.responder.gone();
    if (!goes_on || (!is_new && !heartbeat.passed())) continue;
    if (is_new) told = (*newest)->version;
    goes_on = co_await asked.responder.write(is_new ? changed_event(**newest) : ":\n\n");
    heartbeat = async::Deadline::in(options.heartbeat);
  }
}

async::Task<> Viewer::State::search(const Asked& asked, std::shared_ptr<Live> live) {
  auto text = asked.value("text").value_or("");
  auto limit = asked.number("limit", 200, most_hits);
  auto edition = co_await live->edition();
  std::optional<GateError> refusal;
  if (text.empty() || text.size() > longest_search_text)
    refusal = {400, "invalid", fmt::format("text has 1 to {} bytes", longest_search_text)};
  else if (!limit)
    refusal = refusal_of(limit.error(), 400);
  else if (!edition)
    refusal = refusal_of(edition.error(), 500);
  if (refusal) co_return co_await asked.responder.send(secured(refusal_response(*refusal)));
  auto search = std::make_shared<Search>(*edition, SearchOptions{std::move(text), *limit});
  co_await asked.responder.begin(secured({200, {{"Content-Type", "application/x-ndjson"}}, ""}));
  while (!search->is_done() && !stopped && !asked.responder.gone()) {
    auto lines = co_await live->ask<std::string>([search](Model& model) { return search->next(model); });
    if (!lines || !co_await asked.responder.write(std::move(*lines))) co_return;
  }
}

async::Task<http::Response> Viewer::State::response_of(const Asked& asked, std::shared_ptr<Live> live) {
  const bool is_write = asked.request.method == "POST";
  if (is_write && asked.path == "/api/review") co_return co_await store_label(asked, live);
  if (is_write) co_return refusal_response({405, "method_not_allowed", "this path takes GET"});
  if (asked.path == "/api/index") co_return co_await index(asked, live);
  if (asked.path == "/api/detail") co_return co_await detail(asked, live);
  if (asked.path == "/api/review/queue") co_return co_await review_queue(asked, live);
  co_return refusal_response(no_such("path"));
}

async::Task<http::Response> Viewer::State::response_to(const Asked& asked) {
  const bool is_write = asked.request.method == "POST";
  if (asked.path == "/" && !is_write) co_return page_response(asked);
  if (asked.path == "/enter" && is_write) co_return enter(asked);
  if (!asked.path.starts_with("/api/")) co_return refusal_response(no_such("path"));
  Slot slot(under_way, options.most_under_way);
  if (!slot) co_return busy();
  if (asked.path == "/api/runs" && !is_write) co_return co_await runs();
  auto live = co_await live_of(asked);
  if (!live) co_return refusal_response(live.error());
  if (asked.path.starts_with("/api/review") && !options.may_label)
    co_return refusal_response({409, "conflict",
                                "the verdicts of a service cannot be labelled: there is no "
                                "file beside which labels could lie"});
  co_return co_await response_of(asked, *live);
}

async::Task<> Viewer::State::answer(Asked asked) {
  last_request = async::SteadyClock::now();
  if (auto refusal = gate.refusal(asked.request))
    co_return co_await asked.responder.send(secured(refusal_response(*refusal)));
  const bool is_events = asked.path == "/api/events";
  const bool is_stream = (is_events || asked.path == "/api/search") && asked.request.method == "GET";
  if (!is_stream) co_return co_await asked.responder.send(secured(co_await response_to(asked)));
  Slot slot(streams, options.most_streams);
  if (!slot) co_return co_await asked.responder.send(secured(busy()));
  auto live = co_await live_of(asked);
  if (!live) co_return co_await asked.responder.send(secured(refusal_response(live.error())));
  if (is_events)
    co_await events(asked, *live);
  else
    co_await search(asked, *live);
}

// Looks at the inputs while someone looks at the page.
async::Task<> Viewer::State::keep_looking(std::shared_ptr<State> state) {
  while (!state->stopped) {
    co_await async::sleep_until(async::Deadline::in(look_pause));
    if (!state->stopped && async::SteadyClock::now() - state->last_request < interest)
      co_await state->library.look();
  }
}

Viewer::Viewer(async::Loop& loop, Library& library, GateOptions gate, ViewerOptions options)
    : state_(std::make_shared<State>(loop, library, std::move(gate), std::move(options))) {
  state_->page = state_->options.page(state_->gate.token());
  async::spawn(loop, State::keep_looking(state_));
}

Viewer::~Viewer() {
  stop();
}

async::Task<> Viewer::handle(const http::Request& request, http::Responder& responder) {
  auto state = state_;
  std::string_view target = request.url;
  std::string_view path = target.substr(0, target.find('?'));
  std::string_view query = target.substr(std::min(target.size(), path.size() + 1));
  co_await state->answer({request, responder, path, query});
}

std::optional<http::Response> Viewer::turn_away(const http::Request& head) {
  auto refusal = state_->gate.refusal(head);
  if (!refusal) return {};
  return secured(refusal_response(*refusal));
}

std::string Viewer::first_target() const {
  const std::string& ticket = state_->gate.ticket();
  return fmt::format("/{}{}{}", ticket.empty() ? "" : "?ticket=", ticket, state_->fragment());
}

void Viewer::stop() {
  state_->stopped = true;
  state_->library.stop();
}

}  // namespace kw::view
