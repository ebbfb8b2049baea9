#include "mcp/http_endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>

#include "base/core/display.h"
#include "base/core/text.h"
#include "base/http/access.h"

namespace kw::mcp {
namespace {

constexpr double wrong_keys_per_second = 0.2;
constexpr std::size_t most_notices = 32;  // that wait for a slow reader
constexpr std::string_view session_header = "Mcp-Session-Id";
constexpr std::string_view version_header = "MCP-Protocol-Version";

std::string_view path_of(std::string_view target) {
  return target.substr(0, target.find('?'));
}

http::Response with_headers(http::Response response) {
  response.headers.push_back({"Cache-Control", "no-store"});
  response.headers.push_back({"X-Content-Type-Options", "nosniff"});
  return response;
}

http::Response json_response(int status, std::string text) {
  return with_headers({status, {{"Content-Type", "application/json"}}, std::move(text)});
}

// A JSON-RPC error without an id, as the protocol wants it of refused requests.
http::Response refusal_response(int status, std::string why) {
  return json_response(status, error_text(nullptr, {ErrorCode::invalid_request, std::move(why)}));
}

bool takes(const http::Request& request, std::string_view type) {
  const std::string accepted = lower(http::header(request.headers, "Accept"));
  const std::string any = fmt::format("{}/*", type.substr(0, type.find('/')));
  return accepted.empty() || accepted.contains(type) || accepted.contains("*/*") || accepted.contains(any);
}

bool is_json(const http::Request& request) {
  const std::string type = lower(http::header(request.headers, "Content-Type"));
  return trim(std::string_view(type).substr(0, type.find(';'))) == "application/json";
}

std::string event_of(std::string_view text) {
  return fmt::format("event: message\ndata: {}\n\n", text);
}

// The answer of one request as it comes about, shared with the coroutine that answers.
struct Stream {
  explicit Stream(async::Loop& loop) : changed(loop) {}

  std::deque<std::string> notices;
  std::optional<std::string> answer;
  bool is_over = false;
  bool is_read = false;  // notices have a reader, who has not gone
  async::Event changed;
};

}  // namespace

http::Response unread_response(int status) {
  return refusal_response(status, fmt::format("{} {}", status, http::reason(status)));
}

struct HttpEndpoint::State {
  State(async::Loop& on, async::Stop& until, const Offer& what, HttpOptions given)
      : loop(on), stop(until), offer(what), options(std::move(given)), key(options.key) {}

  struct Client {
    std::shared_ptr<Session> session;
    async::SteadyClock::time_point last_request;
  };

  std::optional<http::Response> refuse_key(const http::Request& head);
  std::optional<http::Response> refuse_head(const http::Request& head);
  void forget_idle_clients();
  bool make_room();
  async::Task<> post(const http::Request& request, http::Responder& responder);
  async::Task<> begin_session(Incoming incoming, http::Responder& responder);
  async::Task<> answer(std::shared_ptr<Session> session, Incoming incoming, bool as_events,
                       http::Responder& responder);
  async::Task<> send_events(std::shared_ptr<Stream> stream, http::Responder& responder) const;
  http::Response end_session(const http::Request& request);

  async::Loop& loop;
  async::Stop& stop;
  const Offer& offer;
  HttpOptions options;
  http::KeyCheck key;
  http::RateLimit wrong_keys{wrong_keys_per_second};
  std::map<std::string, Client, std::less<>> clients;
};

// Who has tried too many keys is refused whatever the next one is: the answer would tell whether it is right.
std::optional<http::Response> HttpEndpoint::State::refuse_key(const http::Request& head) {
  if (options.key.empty()) return {};
  const auto now = async::SteadyClock::now();
  if (wrong_keys.is_spent(head.peer, now))
    return refusal_response(429, "too many keys were tried: wait a minute");
  if (key.admits(head.headers)) return {};
  wrong_keys.seconds_to_wait(head.peer, now);
  auto response = refusal_response(401, "send the server's key: Authorization: Bearer KEY");
  response.headers.push_back({"WWW-Authenticate", "Bearer"});
  return response;
}

std::optional<http::Response> HttpEndpoint::State::refuse_head(const http::Request& head) {
  if (auto other = http::refuse_other_sites(head, options.names))
    return refusal_response(other->status, other->message);
  if (auto unknown = refuse_key(head)) return unknown;
  if (path_of(head.url) != "/mcp") return refusal_response(404, "no such path: the endpoint is /mcp");
  if (head.method != "POST" && head.method != "DELETE") {
    auto response = refusal_response(405, "the endpoint takes POST and DELETE");
    response.headers.push_back({"Allow", "POST, DELETE"});
    return response;
  }
  const std::string_view version = http::header(head.headers, version_header);
  if (!version.empty() && !is_protocol_version(version))
    return refusal_response(400, fmt::format("{}: {} is not supported: use {}", version_header,
                                             visible_line(shorten(version, 40)), protocol_versions[0]));
  if (head.method == "DELETE") return {};
  if (!is_json(head)) return refusal_response(415, "Content-Type must be application/json");
  if (!takes(head, "application/json") && !takes(head, "text/event-stream"))
    return refusal_response(406, "Accept must name application/json and text/event-stream");
  return {};
}

void HttpEndpoint::State::forget_idle_clients() {
  const auto oldest = async::SteadyClock::now() - options.session_idle;
  std::erase_if(clients, [&](const auto& each) {
    return each.second.session->calls() == 0 && each.second.last_request < oldest;
  });
}

// False if every session has calls in progress.
bool HttpEndpoint::State::make_room() {
  forget_idle_clients();
  if (clients.size() < options.most_sessions) return true;
  auto oldest = clients.end();
  for (auto client = clients.begin(); client != clients.end(); ++client)
    if (client->second.session->calls() == 0 &&
        (oldest == clients.end() || client->second.last_request < oldest->second.last_request))
      oldest = client;
  if (oldest == clients.end()) return false;
  clients.erase(oldest);
  return true;
}

async::Task<> HttpEndpoint::State::begin_session(Incoming incoming, http::Responder& responder) {
  if (!make_room())
    co_return co_await responder.send(refusal_response(503, "every session is in use: try again later"));
  auto session = std::make_shared<Session>(loop, stop, offer);
  auto answered = co_await Session::answer(session, std::move(incoming), [](const std::string&) {});
  http::Response response = json_response(200, answered.value_or(""));
  if (!session->protocol().empty()) {
    const std::string id = http::random_secret();
    clients[id] = {session, async::SteadyClock::now()};
    response.headers.push_back({std::string(session_header), id});
  }
  co_await responder.send(std::move(response));
}

// A client that has gone does not cancel its calls, as the protocol wants it: their verdicts stay resources
// of the session.
async::Task<> HttpEndpoint::State::answer(std::shared_ptr<Session> session, Incoming incoming, bool as_events,
                                          http::Responder& responder) {
  auto stream = std::make_shared<Stream>(loop);
  stream->is_read = as_events;
  auto carry_out = [](std::shared_ptr<Session> of, Incoming what,
                      std::shared_ptr<Stream> to) -> async::Task<> {
    to->answer = co_await Session::answer(std::move(of), std::move(what), [to](std::string notice) {
      if (!to->is_read) return;
      if (to->notices.size() == most_notices) to->notices.pop_front();
      to->notices.push_back(std::move(notice));
      to->changed.set();
    });
  };
  async::spawn(loop, carry_out(std::move(session), std::move(incoming), stream),
               [stream](const std::exception_ptr&) {
                 stream->is_over = true;
                 stream->changed.set();
               });
  if (as_events) co_return co_await send_events(std::move(stream), responder);
  while (!stream->is_over) {
    stream->changed.reset();
    co_await stream->changed.wait();
  }
  if (stream->answer) co_return co_await responder.send(json_response(200, std::move(*stream->answer)));
  co_await responder.send(refusal_response(200, "the request was cancelled"));
}

async::Task<> HttpEndpoint::State::send_events(std::shared_ptr<Stream> stream,
                                               http::Responder& responder) const {
  co_await responder.begin(with_headers({200, {{"Content-Type", "text/event-stream"}}, ""}));
  bool goes_on = true;
  while (goes_on) {
    stream->changed.reset();
    while (goes_on && !stream->notices.empty()) {
      const std::string notice = std::move(stream->notices.front());
      stream->notices.pop_front();
      goes_on = co_await responder.write(event_of(notice));
    }
    if (stream->is_over || !goes_on) break;
    if (co_await async::within(async::Deadline::in(options.heartbeat), nullptr, stream->changed.wait()))
      goes_on = co_await responder.write(":\n\n");
  }
  stream->is_read = false;
  stream->notices.clear();
  if (goes_on && stream->answer) co_await responder.write(event_of(*stream->answer));
}

async::Task<> HttpEndpoint::State::post(const http::Request& request, http::Responder& responder) {
  Incoming incoming = read_incoming(request.body);
  if (incoming.is_alone("initialize")) co_return co_await begin_session(std::move(incoming), responder);
  const std::string_view id = http::header(request.headers, session_header);
  forget_idle_clients();
  auto client = clients.find(id);
  if (client == clients.end()) {
    // A client may ask whether the server lives, and a text that is no message gets its error.
    const bool is_no_message = incoming.messages.size() == 1 && !incoming.messages.front();
    if (!id.empty() || !(incoming.is_alone("ping") || is_no_message))
      co_return co_await responder.send(
          id.empty() ? refusal_response(400, "send initialize first, and its Mcp-Session-Id then")
                     : refusal_response(404, "no such session: send initialize again"));
    auto stranger = std::make_shared<Session>(loop, stop, offer);
    const int status = incoming.messages.front() ? 200 : 400;
    auto text = co_await Session::answer(stranger, std::move(incoming), [](const std::string&) {});
    co_return co_await responder.send(text ? json_response(status, std::move(*text))
                                           : with_headers({202, {}, ""}));
  }
  client->second.last_request = async::SteadyClock::now();
  std::shared_ptr<Session> session = client->second.session;
  if (!incoming.asks()) {
    co_await Session::answer(session, std::move(incoming), [](const std::string&) {});
    co_return co_await responder.send(with_headers({202, {}, ""}));
  }
  // A call may take minutes: its stream carries progress, and comments where there is none.
  const bool is_long = incoming.is_batch || incoming.is_alone("tools/call");
  const bool as_events =
      takes(request, "text/event-stream") && (is_long || !takes(request, "application/json"));
  co_await answer(std::move(session), std::move(incoming), as_events, responder);
  if (auto again = clients.find(id); again != clients.end())
    again->second.last_request = async::SteadyClock::now();
}

http::Response HttpEndpoint::State::end_session(const http::Request& request) {
  auto client = clients.find(http::header(request.headers, session_header));
  if (client == clients.end()) return refusal_response(404, "no such session");
  client->second.session->end("the client has ended its session");
  clients.erase(client);
  return with_headers({204, {}, ""});
}

HttpEndpoint::HttpEndpoint(async::Loop& loop, async::Stop& stop, const Offer& offer, HttpOptions options)
    : state_(std::make_shared<State>(loop, stop, offer, std::move(options))) {}

HttpEndpoint::~HttpEndpoint() = default;

async::Task<> HttpEndpoint::handle(const http::Request& request, http::Responder& responder) {
  auto state = state_;
  if (auto refusal = state->refuse_head(request)) co_return co_await responder.send(std::move(*refusal));
  if (request.method == "DELETE") co_return co_await responder.send(state->end_session(request));
  co_await state->post(request, responder);
}

std::optional<http::Response> HttpEndpoint::turn_away(const http::Request& head) {
  return state_->refuse_head(head);
}

std::size_t HttpEndpoint::sessions() const {
  return state_->clients.size();
}

}  // namespace kw::mcp
