// OpenEnv over a WebSocket: episodes, steps, errors, keys, and what a lost connection keeps.
#include <gmock/gmock.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/core/crypto.h"
#include "base/http/server.h"
#include "support/socket_client.h"
#include "task_world.h"

namespace kw::service::test {
namespace {

using kw::test::Frame;
using kw::test::frame;
using kw::test::SocketClient;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

// A service behind a server with sockets, on one loop with its clients.
struct EnvWorld : TaskWorld {
  EnvWorld() {
    auto listening =
        http::Server::listen(loop, {}, [this](const http::Request& request, http::Responder& responder) {
          return service->handle(request, responder);
        });
    server = std::move(listening.value());
  }

  template <typename T>
  T result_of_task(async::Task<T> task) {
    std::optional<T> result;
    boost::asio::co_spawn(loop, std::move(task), [&](const std::exception_ptr& thrown, T value) {
      if (!thrown) result.emplace(std::move(value));
    });
    until([&] { return result.has_value(); });
    return std::move(result).value();
  }

  std::unique_ptr<http::Server> server;
};

// A client's connection. A message is answered, or `closed` holds the code of the server's close frame.
class EnvConnection {
 public:
  explicit EnvConnection(EnvWorld& world, const std::string& headers = {},
                         const std::string& path = "/openenv/ws")
      : world_(world), client_(world.loop) {
    auto open = [](SocketClient& one, std::uint16_t port, std::string to,
                   std::string more) -> async::Task<bool> {
      co_await one.open(port, std::move(to), std::move(more));
      co_return true;
    };
    world_.result_of_task(open(client_, world_.server->port(), path, headers));
  }

  const std::string& handshake() const { return client_.answer; }
  void say(std::string bytes) { world_.result_of_task(client_.say(std::move(bytes))); }
  void say(const json::object& message) { say(frame(Frame::text, json::serialize(message))); }

  json::object hear() {
    Frame got = world_.result_of_task(client_.next());
    if (got.op == Frame::text) return json::parse(got.payload).as_object();
    closed = got.op == Frame::close ? got.code() : 0;
    return {};
  }

  json::object ask(const json::object& message) {
    say(message);
    return hear();
  }
  json::object reset(json::object data = {{"task_id", "one"}}) {
    return ask({{"type", "reset"}, {"data", std::move(data)}});
  }
  json::object step(const std::string& mark, json::object more = {}) {
    json::object data{{"completion", completion_of(mark)}};
    for (const auto& [key, value] : more) data[key] = value;
    return ask({{"type", "step"}, {"data", std::move(data)}});
  }
  json::object state() { return ask({{"type", "state"}}); }
  void lose() { client_.close(); }

  int closed = -1;

 private:
  EnvWorld& world_;
  SocketClient client_;
};

std::string code_in(const json::object& answer) {
  if (answer.empty() || answer.at("type") != "error") return "no error: " + json::serialize(answer);
  return std::string(answer.at("data").at("code").as_string());
}

std::string message_in(const json::object& answer) {
  if (code_in(answer).starts_with("no error")) return code_in(answer);
  return std::string(answer.at("data").at("message").as_string());
}

const json::value& seen(const json::object& answer, std::string_view name) {
  return answer.at("data").at("observation").at(name);
}

std::string episode_in(const json::object& answer) {
  return std::string(seen(answer, "episode_id").as_string());
}

TEST(OpenEnvSocket, AnEpisodeIsAConversation) {
  for (const char* path : {"/openenv/ws", "/ws"}) {
    EnvWorld world;
    EnvConnection client(world, "", path);
    auto first = client.reset();
    EXPECT_EQ(first.at("type"), "observation");
    EXPECT_EQ(seen(first, "task_id"), "one");
    EXPECT_EQ(seen(first, "messages").as_array().size(), 2U);
    EXPECT_TRUE(first.at("data").at("reward").is_null());
    EXPECT_EQ(first.at("data").at("done"), false);
    auto wrong = client.step("wrong");
    EXPECT_EQ(wrong.at("data").at("reward"), 0.0);
    EXPECT_EQ(wrong.at("data").at("done"), false);
    EXPECT_EQ(seen(wrong, "verdict").at("status"), "incorrect");
    EXPECT_THAT(json::serialize(seen(wrong, "messages")), HasSubstr("Send the whole module again"));
    auto state = client.state();
    EXPECT_EQ(state.at("type"), "state");
    EXPECT_EQ(state.at("data").at("step_count"), 1);
    EXPECT_EQ(state.at("data").at("episode_id"), seen(first, "episode_id"));
    auto right = client.step("right");
    EXPECT_GT(right.at("data").at("reward").as_double(), 0);
    EXPECT_EQ(right.at("data").at("done"), true);
    EXPECT_EQ(seen(right, "stop_reason"), "success_fast");
    EXPECT_EQ(world.get("/v1/conversations/" + episode_in(first)).at("best_turn"), "2");
  }
}

TEST(OpenEnvSocket, ResetTakesTheSettingsOfAConversation) {
  EnvWorld world;
  EnvConnection client(world);
  auto first = client.reset({{"seed", 1}, {"turns", 1}, {"episode_id", "mine"}});
  EXPECT_EQ(seen(first, "task_id"), "set/two");
  EXPECT_EQ(episode_in(first), "mine");
  EXPECT_EQ(client.step("wrong").at("data").at("done"), true);
  EXPECT_EQ(code_in(client.step("right")), "EXECUTION_ERROR") << "the episode has ended";
  EXPECT_EQ(client.reset(json::object{}).at("type"), "observation") << "any task";
  EXPECT_EQ(code_in(client.reset({{"task_id", "none"}})), "VALIDATION_ERROR");
  EXPECT_EQ(code_in(client.reset({{"seed", -1}})), "VALIDATION_ERROR");
  EXPECT_EQ(code_in(client.reset({{"task_id", "one"}, {"turns", 0}})), "VALIDATION_ERROR");
  EXPECT_EQ(code_in(client.reset({{"task_id", "one"}, {"max_turns", 4}})), "VALIDATION_ERROR");
  EXPECT_EQ(code_in(client.reset({{"task_id", "one"}, {"episode_id", "a/b"}})), "VALIDATION_ERROR");
  EXPECT_EQ(code_in(client.reset({{"task_id", "one"}, {"episode_id", 7}})), "VALIDATION_ERROR");
  EXPECT_EQ(client.reset().at("type"), "observation") << "the connection goes on after errors";
}

TEST(OpenEnvSocket, ANewEpisodeAndACloseEndTheEarlierOne) {
  EnvWorld world;
  EnvConnection client(world);
  auto first = episode_in(client.reset());
  auto second = episode_in(client.reset());
  EXPECT_NE(first, second);
  EXPECT_EQ(world.get("/v1/conversations/" + first).at("stop_reason"), "cancelled");
  EXPECT_TRUE(client.ask({{"type", "close"}}).empty());
  EXPECT_EQ(client.closed, 1000);
  EXPECT_EQ(world.get("/v1/conversations/" + second).at("stop_reason"), "cancelled");
}

TEST(OpenEnvSocket, AnEndedEpisodeKeepsItsEnd) {
  EnvWorld world;
  EnvConnection client(world);
  auto episode = episode_in(client.reset());
  client.step("right");
  client.ask({{"type", "close"}});
  EXPECT_EQ(world.get("/v1/conversations/" + episode).at("stop_reason"), "success_fast");
}

TEST(OpenEnvSocket, FaultsOfTheInfrastructureAreWaitedOut) {
  EnvWorld world;
  auto left = std::make_shared<int>(1);
  world.verifier.verdict = [left](const Job& job) {
    return (*left)-- > 0 ? infrastructure_fault(job) : by_mark(job);
  };
  EnvConnection client(world);
  client.reset();
  EXPECT_EQ(client.step("right").at("data").at("done"), true);
  EXPECT_THAT(world.verifier.begun, SizeIs(2));
}

TEST(OpenEnvSocket, WhatIsNotJudgedIsAnErrorAndNoReward) {
  EnvWorld world;
  world.verifier.verdict = infrastructure_fault;
  EnvConnection client(world);
  client.reset();
  auto failed = client.step("right", {{"timeout_s", 0.05}});
  EXPECT_EQ(code_in(failed), "EXECUTION_ERROR");
  EXPECT_EQ(failed.at("data").at("class"), "not_judged");
  EXPECT_THAT(message_in(failed), HasSubstr("was not judged"));
  EXPECT_FALSE(failed.at("data").as_object().contains("reward"));
  world.verifier.verdict = by_mark;
  EXPECT_GT(client.step("right").at("data").at("reward").as_double(), 0) << "the same step again";
  EXPECT_EQ(client.state().at("data").at("step_count"), 1);
}

TEST(OpenEnvSocket, AFaultOfTheTaskEndsTheEpisodeWithoutAReward) {
  EnvWorld world;
  world.verifier.verdict = [](const Job& job) {
    Verdict verdict = infrastructure_fault(job);
    verdict.fault = Fault::task;
    verdict.error_class = ErrorClass::task_invalid;
    verdict.error = secret;
    return verdict;
  };
  EnvConnection client(world);
  client.reset();
  auto broken = client.step("right");
  ASSERT_EQ(broken.at("type"), "observation") << json::serialize(broken);
  EXPECT_TRUE(broken.at("data").at("reward").is_null());
  EXPECT_EQ(broken.at("data").at("done"), true);
  EXPECT_EQ(seen(broken, "stop_reason"), "task_invalid");
  EXPECT_TRUE(seen(broken, "not_judged").is_string());
  EXPECT_THAT(json::serialize(broken), Not(HasSubstr(secret)));
}

TEST(OpenEnvSocket, AStepThatTakesTooLongIsAttachedTo) {
  EnvWorld world;
  world.verifier.hold();
  EnvConnection client(world);
  client.reset();
  auto late = client.step("right", {{"timeout_s", 0.05}});
  EXPECT_EQ(code_in(late), "EXECUTION_ERROR");
  EXPECT_THAT(message_in(late), HasSubstr("still being judged"));
  EXPECT_THAT(message_in(client.step("wrong", {{"timeout_s", 0.05}})), HasSubstr("another completion"));
  world.verifier.release();
  EXPECT_EQ(client.step("right").at("data").at("done"), true);
  EXPECT_THAT(world.verifier.begun, SizeIs(1));
}

TEST(OpenEnvSocket, ALostConnectionLosesNothing) {
  EnvWorld world;
  std::string episode;
  {
    EnvConnection lost(world);
    episode = episode_in(lost.reset());
    lost.step("wrong");
    world.verifier.hold();
    lost.say({{"type", "step"}, {"data", {{"completion", completion_of("right")}}}});
    world.until([&] { return world.verifier.running == 1; });
    lost.lose();
  }
  world.verifier.release();
  EnvConnection other(world);
  auto resumed = other.reset({{"episode_id", episode}});
  EXPECT_EQ(episode_in(resumed), episode);
  auto right = other.step("right");
  EXPECT_EQ(right.at("data").at("done"), true)
      << "the step whose answer was lost: " << json::serialize(right);
  EXPECT_EQ(seen(right, "turn"), 2);
  EXPECT_THAT(world.verifier.begun, SizeIs(2)) << "judged once";
}

TEST(OpenEnvSocket, AnEpisodeOutlivesARestart) {
  EnvWorld world;
  std::string episode;
  {
    EnvConnection before(world);
    episode = episode_in(before.reset());
    before.step("wrong");
    bool drained = false;
    boost::asio::co_spawn(world.loop, world.service->drain(std::chrono::milliseconds(0)),
                          [&](const std::exception_ptr&) { drained = true; });
    before.hear();
    EXPECT_EQ(before.closed, 1001) << "the service tells its clients that it ends";
    world.until([&] { return drained; });
  }
  world.restart();
  EnvConnection after(world);
  auto right = after.step("right", {{"episode_id", episode}});
  EXPECT_EQ(right.at("data").at("done"), true) << json::serialize(right);
  EXPECT_EQ(seen(right, "turn"), 2);
}

TEST(OpenEnvSocket, ASecondEqualStepIsANewTurn) {
  EnvWorld world;
  EnvConnection client(world);
  client.reset();
  EXPECT_EQ(seen(client.step("wrong"), "turn"), 1);
  EXPECT_EQ(seen(client.step("wrong"), "turn"), 2) << "its client has the answer to the first";
  EXPECT_EQ(seen(client.step("wrong", {{"turn", 1}}), "turn"), 1) << "a named turn is that turn";
}

TEST(OpenEnvSocket, ErrorsHaveTheCodesOfItsClient) {
  EnvWorld world;
  EnvConnection client(world);
  EXPECT_EQ(code_in(client.step("right")), "EXECUTION_ERROR");
  EXPECT_THAT(message_in(client.step("right")), HasSubstr("send reset"));
  EXPECT_EQ(client.state().at("data").at("step_count"), 0);
  for (const std::string text : {"", "{", "[]", "null", "7", "{} {}"}) {
    client.say(frame(Frame::text, text));
    EXPECT_EQ(code_in(client.hear()), "INVALID_JSON") << text;
  }
  for (const char* text :
       {"{}", R"({"type": "mcp", "data": {}})", R"({"type": 7})", R"({"type": "\u0000"})"}) {
    client.say(frame(Frame::text, text));
    EXPECT_EQ(code_in(client.hear()), "UNKNOWN_TYPE") << text;
  }
  EXPECT_EQ(code_in(client.ask({{"type", "reset"}, {"data", 7}})), "VALIDATION_ERROR");
  client.reset();
  for (const json::object& action :
       {json::object{}, json::object{{"completion", 7}}, json::object{{"completion", "x"}, {"code", "x"}},
        json::object{{"completion", "x"}, {"timeout_s", -1}},
        json::object{{"completion", "x"}, {"timeout_s", "1"}},
        json::object{{"completion", "x"}, {"timeout_s", 3601}},
        json::object{{"completion", "x"}, {"turn", 0}},
        json::object{{"completion", "x"}, {"task_id", "set/two"}},
        json::object{{"completion", "x"}, {"episode_id", "none"}}})
    EXPECT_EQ(code_in(client.ask({{"type", "step"}, {"data", action}})), "VALIDATION_ERROR")
        << json::serialize(action);
  EXPECT_THAT(world.verifier.begun, IsEmpty());
}

TEST(OpenEnvSocket, DeepAndLargeMessagesEndNothing) {
  EnvWorld world;
  EnvConnection client(world);
  client.say(frame(Frame::text, R"({"type":)" + std::string(1'000'000, '[')));
  EXPECT_EQ(code_in(client.hear()), "INVALID_JSON");
  client.reset();
  const std::string name(100'000, 'n');
  auto refused = client.ask({{"type", "step"}, {"data", {{"completion", "x"}, {name, 1}}}});
  EXPECT_EQ(code_in(refused), "VALIDATION_ERROR");
  EXPECT_LT(json::serialize(refused).size(), 1000U) << "a client's text is not sent back whole";
  EXPECT_LT(json::serialize(client.ask({{"type", name}})).size(), 1000U);
  EXPECT_EQ(client.step("right").at("data").at("done"), true);
}

TEST(OpenEnvSocket, TheBytesOfAnEpisodeAreLimited) {
  EnvWorld world;
  world.restart([](Options& of) { of.conversation_bytes = 200; });
  EnvConnection client(world);
  client.reset();
  EXPECT_EQ(code_in(client.step(std::string(200, 'x'))), "VALIDATION_ERROR");
  EXPECT_EQ(client.step("right").at("data").at("done"), true);
}

TEST(OpenEnvSocket, OtherSitesAndOtherNamesGetNone) {
  EnvWorld world;
  world.restart([](Options& of) { of.names = http::ServedNames{}; });
  EXPECT_THAT(EnvConnection(world).handshake(), StartsWith("HTTP/1.1 101 "));
  EXPECT_THAT(EnvConnection(world, "Origin: http://evil.example\r\n").handshake(),
              StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(EnvConnection(world, "Origin: null\r\n").handshake(), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(EnvConnection(world, "Sec-Fetch-Site: cross-site\r\n").handshake(),
              StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(EnvConnection(world, "Origin: http://127.0.0.1\r\n").handshake(), StartsWith("HTTP/1.1 101 "));
  http::Request other{"GET", "/ws", {{"Host", "evil.example"}}};
  EXPECT_EQ(world.ask(other).status, 421);
  world.restart([](Options& of) { of.key = "open sesame"; });
  const std::string key = "X-API-Key: open sesame\r\n";
  EXPECT_THAT(EnvConnection(world, key + "Origin: http://evil.example\r\n").handshake(),
              StartsWith("HTTP/1.1 403 "))
      << "with a key, too";
}

TEST(OpenEnvSocket, WithoutAWebSocketThereIsAnUpgradeToAskFor) {
  EnvWorld world;
  auto plain = world.get("/openenv/ws");
  EXPECT_EQ(plain.status, 426);
  EXPECT_EQ(plain.header("Upgrade"), "websocket");
  EXPECT_EQ(world.post("/ws", json::object{}).status, 405);
}

// A service with an operator's key and the keys of alice and bob.
struct EnvOwners : EnvWorld {
  EnvOwners() { reopen({}); }

  void reopen(OwnerRules alice) {
    alice.name = "alice";
    alice.digests = {sha256_hex("key of alice")};
    OwnerRules bob;
    bob.name = "bob";
    bob.digests = {sha256_hex("key of bob")};
    restart([&](Options& of) {
      of.key = "key of the operator";
      of.owners = {alice, bob};
    });
  }

  static std::string key_of(const std::string& who) { return "X-API-Key: key of " + who + "\r\n"; }
};

TEST(OpenEnvSocket, NeedsAKey) {
  EnvOwners world;
  for (const char* path : {"/openenv/ws", "/ws"}) {
    EXPECT_THAT(EnvConnection(world, "", path).handshake(), StartsWith("HTTP/1.1 401 ")) << path;
    EXPECT_THAT(EnvConnection(world, EnvOwners::key_of("eve"), path).handshake(),
                StartsWith("HTTP/1.1 401 "));
    EXPECT_THAT(EnvConnection(world, EnvOwners::key_of("alice"), path).handshake(),
                StartsWith("HTTP/1.1 101 "));
  }
  // A URL with a password: http://any:key@host
  EXPECT_THAT(
      EnvConnection(world, "Authorization: Basic " + base64_encoded("any:key of bob") + "\r\n").handshake(),
      StartsWith("HTTP/1.1 101 "));
}

TEST(OpenEnvSocket, AnEpisodeBelongsToItsKey) {
  EnvOwners world;
  EnvConnection alice(world, EnvOwners::key_of("alice"));
  EnvConnection bob(world, EnvOwners::key_of("bob"));
  auto episode = episode_in(alice.reset({{"task_id", "one"}, {"episode_id", "same"}}));
  auto none = bob.step("right", {{"episode_id", "none"}});
  auto hers = bob.step("right", {{"episode_id", episode}});
  EXPECT_EQ(code_in(hers), code_in(none));
  EXPECT_THAT(message_in(hers), HasSubstr("no conversation"));
  EXPECT_EQ(code_in(bob.step("right", {{"episode_id", "alice\x1fsame"}})), code_in(none));
  EXPECT_EQ(bob.reset({{"task_id", "set/two"}, {"episode_id", "same"}}).at("type"), "observation")
      << "his own";
  EXPECT_EQ(bob.step("wrong").at("data").at("done"), false);
  bob.ask({{"type", "close"}});
  EXPECT_EQ(seen(alice.step("wrong"), "task_id"), "one");
  EXPECT_EQ(alice.state().at("data").at("step_count"), 1) << "his steps and his close were not in hers";
}

TEST(OpenEnvSocket, TheLimitsOfAKeyHold) {
  EnvOwners world;
  OwnerRules rules;
  rules.tasks = {"one"};
  rules.conversations_at_once = 1;
  rules.requests_per_minute = 8;
  world.reopen(rules);
  const std::string key = EnvOwners::key_of("alice");
  EnvConnection first(world, key);
  EXPECT_EQ(code_in(first.reset({{"task_id", "set/two"}})), "VALIDATION_ERROR") << "beyond its scope";
  EXPECT_EQ(first.reset().at("type"), "observation");
  EnvConnection second(world, key);
  EXPECT_EQ(code_in(second.reset()), "CAPACITY_REACHED");
  EXPECT_THAT(EnvConnection(world, key).handshake(), StartsWith("HTTP/1.1 429 ")) << "sessions";
  json::object answer;
  for (int i = 0; i < 8; ++i) answer = first.state();
  EXPECT_EQ(code_in(answer), "CAPACITY_REACHED") << "messages count as requests";
  EXPECT_GT(answer.at("data").at("retry_after_s").as_int64(), 0);
}

TEST(OpenEnvSocket, SessionsThatEndedCountNoMore) {
  EnvOwners world;
  OwnerRules rules;
  rules.conversations_at_once = 1;
  world.reopen(rules);
  for (int i = 0; i < 6; ++i) {
    EnvConnection one(world, EnvOwners::key_of("alice"));
    ASSERT_THAT(one.handshake(), StartsWith("HTTP/1.1 101 ")) << i;
    one.lose();
    world.until([&] { return world.server->connections() == 0; });
  }
}

}  // namespace
}  // namespace kw::service::test
