// The transport over HTTP on real sockets: sessions, streams, and requests that are refused.
#include "mcp/http_endpoint.h"

#include "base/http/client.h"
#include "mcp_world.h"

namespace kw::mcp::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* ping = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
constexpr const char* list = R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})";

struct Site {
  explicit Site(HttpOptions options = {})
      : endpoint(world.loop, world.stop, world.offer, std::move(options)) {
    http::ServerOptions at;
    at.max_body_bytes = most_message_bytes;
    at.refusal = unread_response;
    at.turn_away = [this](const http::Request& head) { return endpoint.turn_away(head); };
    auto listening = http::Server::listen(world.loop, at,
                                          [this](const http::Request& request, http::Responder& responder) {
                                            return endpoint.handle(request, responder);
                                          });
    EXPECT_TRUE(listening);
    server = std::move(*listening);
  }
  ~Site() {
    world.stop.request("the test ends");
    world.verifier.release();
    world.settle();
    server->stop();
    world.settle();
  }

  static async::Task<> carry_out(std::unique_ptr<http::Client> client, http::Request request,
                                 std::shared_ptr<std::optional<http::Response>> into) {
    auto answer = co_await client->send(request, async::Deadline::in(std::chrono::seconds(20)), nullptr);
    EXPECT_TRUE(answer) << answer.error().what;
    *into = answer ? *answer : http::Response{};
  }
  std::shared_ptr<std::optional<http::Response>> begin(const std::string& method, const std::string& body,
                                                       http::Headers more = {},
                                                       const std::string& target = "/mcp") {
    http::Headers headers = std::move(more);
    auto add = [&](const char* name, const char* value) {
      if (http::header(headers, name).empty()) headers.push_back({name, value});
    };
    if (method == "POST") add("Content-Type", "application/json");
    add("Accept", "application/json, text/event-stream");
    auto into = std::make_shared<std::optional<http::Response>>();
    auto client =
        std::make_unique<http::Client>(world.loop, http::ClientOptions{.use_environment_proxy = false});
    async::spawn(world.loop,
                 carry_out(std::move(client), {method, server->url() + target, headers, body}, into));
    return into;
  }
  http::Response ask(const std::string& method, const std::string& body, http::Headers more = {},
                     const std::string& target = "/mcp") {
    auto into = begin(method, body, std::move(more), target);
    world.until([&] { return into->has_value(); });
    return into->value_or(http::Response{});
  }
  http::Response post(const std::string& body, http::Headers more = {}) {
    return ask("POST", body, std::move(more));
  }
  // A new session; its header.
  http::Headers session() {
    return {{"Mcp-Session-Id", std::string(http::header(post(initialize_text).headers, "Mcp-Session-Id"))}};
  }

  World world;
  HttpEndpoint endpoint;
  std::unique_ptr<http::Server> server;
};

TEST(Http, BeginsASessionAndEndsIt) {
  Site site;
  http::Response begun = site.post(initialize_text);
  EXPECT_EQ(begun.status, 200);
  EXPECT_EQ(http::header(begun.headers, "Content-Type"), "application/json");
  EXPECT_EQ(http::header(begun.headers, "Mcp-Session-Id").size(), 32U);
  http::Headers id = {{"mcp-session-id", std::string(http::header(begun.headers, "Mcp-Session-Id"))}};
  EXPECT_EQ(site.post(R"({"jsonrpc":"2.0","method":"notifications/initialized"})", id).status, 202);
  EXPECT_THAT(site.post(list, id).body, HasSubstr("inputSchema"));
  EXPECT_EQ(site.ask("DELETE", "", id).status, 204);
  EXPECT_EQ(site.post(list, id).status, 404);
  EXPECT_EQ(site.ask("DELETE", "", id).status, 404);
}

TEST(Http, NeedsASession) {
  Site site;
  EXPECT_EQ(site.post(list).status, 400);
  EXPECT_EQ(site.post(list, {{"Mcp-Session-Id", "x"}}).status, 404);
  EXPECT_EQ(site.post(ping).status, 200);
  EXPECT_EQ(site.post(ping, {{"Mcp-Session-Id", "x"}}).status, 404);
  EXPECT_EQ(site.post("nonsense").status, 400);
  EXPECT_THAT(site.post("nonsense").body, HasSubstr("-32700"));
  EXPECT_EQ(site.endpoint.sessions(), 0U);
}

TEST(Http, RefusesWhatIsNoRequestOfTheProtocol) {
  Site site;
  http::Headers id = site.session();
  auto with = [&](const char* name, const char* value) {
    http::Headers headers = id;
    headers.push_back({name, value});
    return headers;
  };
  EXPECT_EQ(site.ask("GET", "", id).status, 405);
  EXPECT_EQ(http::header(site.ask("GET", "", id).headers, "Allow"), "POST, DELETE");
  EXPECT_EQ(site.ask("PUT", "", id).status, 405);
  EXPECT_EQ(site.ask("POST", list, id, "/other").status, 404);
  EXPECT_EQ(site.post(list, with("Content-Type", "text/plain")).status, 415);
  EXPECT_EQ(site.post(list, with("Content-Type", "application/json; charset=utf-8")).status, 200);
  EXPECT_EQ(site.post(list, with("Accept", "text/html")).status, 406);
  EXPECT_EQ(site.post(list, with("MCP-Protocol-Version", "2025-06-18")).status, 200);
  EXPECT_EQ(site.post(list, with("MCP-Protocol-Version", "1999-01-01")).status, 400);
  EXPECT_EQ(site.post(std::string(most_message_bytes + 1, ' '), id).status, 413);
}

TEST(Http, RefusesRequestsOfOtherSites) {
  Site site;
  EXPECT_EQ(site.post(initialize_text, {{"Origin", "http://evil.example"}}).status, 403);
  EXPECT_EQ(site.post(initialize_text, {{"Origin", "null"}}).status, 403);
  EXPECT_EQ(site.post(initialize_text, {{"Sec-Fetch-Site", "cross-site"}}).status, 403);
  EXPECT_EQ(site.post(initialize_text, {{"Origin", site.server->url()}}).status, 200);
  http::Response answer = site.ask("OPTIONS", "", {{"Origin", "http://evil.example"}});
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(http::header(answer.headers, "Access-Control-Allow-Origin"), "");
}

TEST(Http, AnswersACallWithAStreamOfItsProgress) {
  Site site;
  http::Headers id = site.session();
  http::Response answer = site.post(call_text(5, kernel, {{"progressToken", 1}}), id);
  EXPECT_EQ(http::header(answer.headers, "Content-Type"), "text/event-stream");
  EXPECT_THAT(answer.body, HasSubstr("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\""));
  EXPECT_THAT(answer.body, HasSubstr("\"id\":5"));
  EXPECT_LT(answer.body.find("starting Python"), answer.body.find("\"id\":5"));
}

TEST(Http, AnswersACallWithJsonToAClientWithoutStreams) {
  Site site;
  http::Headers headers = site.session();
  headers.push_back({"Accept", "application/json"});
  http::Response answer = site.post(call_text(5), headers);
  EXPECT_EQ(http::header(answer.headers, "Content-Type"), "application/json");
  EXPECT_THAT(answer.body, HasSubstr("\"correct\""));
}

TEST(Http, KeepsASilentStreamAlive) {
  Site site({.heartbeat = std::chrono::milliseconds(5)});
  http::Headers id = site.session();
  site.world.verifier.hold();
  auto answer = site.begin("POST", call_text(1), id);
  site.world.until([&] { return site.world.verifier.judged.size() == 1; });
  for (int beats = 0; beats < 10; ++beats) site.world.settle();
  site.world.verifier.release();
  site.world.until([&] { return answer->has_value(); });
  EXPECT_THAT((*answer)->body, HasSubstr(":\n\n"));
}

TEST(Http, EndsTheStreamOfACancelledCallWithoutAnAnswer) {
  Site site;
  http::Headers id = site.session();
  site.world.verifier.hold();
  auto answer = site.begin("POST", call_text(1), id);
  site.world.until([&] { return site.world.verifier.judged.size() == 1; });
  site.post(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})", id);
  site.world.until([&] { return answer->has_value(); });
  EXPECT_THAT((*answer)->body, Not(HasSubstr("\"id\":1")));
  EXPECT_EQ(site.world.verifier.stopped, 1);
}

TEST(Http, StopsTheCallsOfAnEndedSession) {
  Site site;
  http::Headers id = site.session();
  site.world.verifier.hold();
  auto answer = site.begin("POST", call_text(1), id);
  site.world.until([&] { return site.world.verifier.judged.size() == 1; });
  EXPECT_EQ(site.ask("DELETE", "", id).status, 204);
  site.world.until([&] { return answer->has_value(); });
  EXPECT_EQ(site.world.verifier.stopped, 1);
}

TEST(Http, KeepsTheVerdictsOfSessionsApart) {
  Site site;
  http::Headers first = site.session();
  http::Headers second = site.session();
  site.post(call_text(1), first);
  const std::string read =
      R"({"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"kernelwright://verdict/v1"}})";
  EXPECT_THAT(site.post(read, first).body, HasSubstr("kernelwright.verdict/1"));
  EXPECT_THAT(site.post(read, second).body, HasSubstr("-32002"));
}

TEST(Sessions, GiveWayToOthersWhereTheyAreIdle) {
  Site site({.most_sessions = 2});
  http::Headers first = site.session();
  http::Headers second = site.session();
  site.world.verifier.hold();
  auto answer = site.begin("POST", call_text(1), first);
  site.world.until([&] { return site.world.verifier.judged.size() == 1; });
  http::Headers third = site.session();
  EXPECT_EQ(site.endpoint.sessions(), 2U);
  EXPECT_EQ(site.post(list, second).status, 404);
  EXPECT_EQ(site.post(list, third).status, 200);
  auto other = site.begin("POST", call_text(1, std::string(kernel) + "#"), third);
  site.world.until([&] { return site.world.verifier.judged.size() == 2; });
  EXPECT_EQ(site.post(initialize_text).status, 503);
  site.world.verifier.release();
  site.world.until([&] { return answer->has_value() && other->has_value(); });
}

TEST(Sessions, EndAfterTheirIdleTime) {
  Site site({.session_idle = std::chrono::milliseconds(0)});
  http::Headers id = site.session();
  EXPECT_EQ(site.post(list, id).status, 404);
}

TEST(Key, IsNeededInEveryRequest) {
  Site site({.key = "open-sesame"});
  http::Response refused = site.post(initialize_text);
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(http::header(refused.headers, "WWW-Authenticate"), "Bearer");
  EXPECT_EQ(site.post(initialize_text, {{"Authorization", "Bearer open-sesame"}}).status, 200);
  for (int i = 0; i < 12; ++i) site.post(initialize_text, {{"Authorization", "Bearer guess"}});
  EXPECT_EQ(site.post(initialize_text, {{"Authorization", "Bearer open-sesame"}}).status, 429);
}

}  // namespace
}  // namespace kw::mcp::test
