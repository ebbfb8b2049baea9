// A client's session: negotiation, errors, progress, cancellation, limits.
#include "mcp/session.h"

#include "mcp_world.h"

namespace kw::mcp::test {
namespace {

using testing::HasSubstr;

TEST(Initialize, TakesTheVersionOfTheClient) {
  for (const char* version : {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}) {
    World world;
    EXPECT_EQ(world.initialize(version).at("result").at("protocolVersion"), version);
  }
}

TEST(Initialize, AnswersAnUnknownVersionWithTheNewest) {
  World world;
  json::object result = world.initialize("2099-01-01").at("result").get_object();
  EXPECT_EQ(result.at("protocolVersion"), "2025-11-25");
  EXPECT_EQ(result.at("serverInfo").at("name"), "kernelwright");
  EXPECT_EQ(result.at("serverInfo").at("version"), "1.2.3");
  EXPECT_EQ(result.at("instructions"), "verify");
  EXPECT_EQ(result.at("capabilities"),
            json::value({{"tools", json::object()}, {"resources", json::object()}}));
}

TEST(Initialize, ComesOnceAndFirst) {
  World world;
  EXPECT_EQ(code_of(world.ask("tools/list")), -32600);
  EXPECT_EQ(code_of(world.ask("tools/call", {{"name", "explain"}})), -32600);
  EXPECT_EQ(code_of(world.ask("initialize", {{"protocolVersion", 7}})), -32602);
  EXPECT_EQ(code_of(world.initialize()), 0);
  EXPECT_EQ(code_of(world.initialize()), -32600);
}

TEST(Ping, IsAnsweredAtAnyTime) {
  World world;
  EXPECT_EQ(world.ask("ping").at("result"), json::object());
  world.initialize();
  EXPECT_EQ(world.ask("ping").at("result"), json::object());
}

TEST(Method, ThatIsUnknownIsAnError) {
  World world;
  world.initialize();
  for (const char* method : {"tools/cal", "logging/setLevel", "server/discover", "prompts/list", ""})
    EXPECT_EQ(code_of(world.ask(method)), -32601) << method;
  EXPECT_EQ(world.send(R"({"jsonrpc":"2.0","method":"notifications/unknown"})"), "");
}

TEST(Tool, ThatIsUnknownIsAnErrorOfTheProtocol) {
  World world;
  world.initialize();
  EXPECT_EQ(code_of(world.ask("tools/call", {{"name", "verfiy"}})), -32602);
  EXPECT_EQ(code_of(world.ask("tools/call", {{"name", 1}})), -32602);
  EXPECT_EQ(code_of(world.ask("tools/call", {{"name", "verify"}, {"arguments", "x"}})), -32602);
}

TEST(Tools, AreListedWithStrictSchemas) {
  World world;
  world.initialize();
  json::object listed = world.ask("tools/list");
  const json::array& tools = listed.at("result").at("tools").get_array();
  ASSERT_EQ(tools.size(), 2U);
  for (const json::value& tool : tools) {
    EXPECT_EQ(tool.at("inputSchema").at("additionalProperties"), false);
    EXPECT_EQ(tool.at("annotations").at("readOnlyHint"), true);
    EXPECT_EQ(tool.at("outputSchema").at("type"), "object");
  }
  EXPECT_FALSE(tools.at(0).at("inputSchema").at("properties").get_object().contains("task_id"));
  EXPECT_FALSE(tools.at(0).at("inputSchema").at("properties").get_object().contains("kernel_path"));
}

TEST(Lists, AreCompleteWithoutACursor) {
  World world;
  world.initialize();
  for (const char* method : {"tools/list", "resources/list", "resources/templates/list"}) {
    EXPECT_EQ(code_of(world.ask(method)), 0) << method;
    EXPECT_EQ(code_of(world.ask(method, {{"cursor", "next"}})), -32602) << method;
  }
}

TEST(Explain, ExplainsAWordOrListsAll) {
  World world;
  json::object result = world.call("explain", {{"word", "out_of_bounds"}});
  EXPECT_THAT(text_of(result), HasSubstr("out_of_bounds (error class)"));
  EXPECT_EQ(field(result, "entries").at(0).at("word"), "out_of_bounds");
  EXPECT_THAT(text_of(world.call("explain")), HasSubstr("library_only"));
  result = world.call("explain", {{"word", "out_of_bonds"}});
  EXPECT_TRUE(is_error(result));
  EXPECT_THAT(text_of(result), HasSubstr("the nearest is out_of_bounds"));
}

TEST(Batch, IsAnsweredInTheVersionThatHasBatches) {
  const std::string batch = R"([{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"},)"
                            R"({"jsonrpc":"2.0","id":"b","method":"nothing"},7])";
  World world;
  world.initialize("2025-03-26");
  json::array answers = json::parse(world.send(batch)).get_array();
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers.at(0).at("id"), 1);
  EXPECT_EQ(answers.at(1).at("error").at("code"), -32601);
  EXPECT_EQ(answers.at(2).at("id"), nullptr);
  EXPECT_EQ(world.send(R"([{"jsonrpc":"2.0","method":"x"}])"), "");
}

TEST(Batch, IsRefusedByOtherVersionsAndBeforeInitialize) {
  World world;
  const std::string batch = R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])";
  EXPECT_EQ(code_of(json::parse(world.send(batch)).get_object()), -32600);
  world.initialize("2025-06-18");
  EXPECT_EQ(code_of(json::parse(world.send(batch)).get_object()), -32600);
}

TEST(Progress, IsToldToAClientThatGaveAToken) {
  World world;
  world.beat = std::chrono::milliseconds(5);
  world.restart();
  world.initialize();
  world.verifier.hold();
  auto answer = world.begin(call_text(7, kernel, {{"progressToken", "p"}}));
  world.until([&] { return world.told.size() >= 4; });
  world.verifier.release();
  world.until([&] { return answer->has_value(); });
  EXPECT_THAT(world.told.at(0), HasSubstr("starting Python with PyTorch"));
  EXPECT_THAT(world.told.at(1), HasSubstr("judging"));
  double last = 0;
  for (const std::string& text : world.told) {
    json::object notice = json::parse(text).get_object();
    EXPECT_EQ(notice.at("method"), "notifications/progress");
    EXPECT_EQ(notice.at("params").at("progressToken"), "p");
    EXPECT_GT(notice.at("params").at("progress").to_number<double>(), last);
    last = notice.at("params").at("progress").to_number<double>();
  }
}

TEST(Progress, IsNotToldWithoutAToken) {
  World world;
  world.call("verify", pair());
  EXPECT_TRUE(world.told.empty());
}

// Every notification repeats the token.
TEST(Progress, IsNotToldToATokenWithoutBound) {
  World world;
  world.initialize();
  world.send(call_text(7, kernel, {{"progressToken", std::string(1'001, 'x')}}));
  EXPECT_TRUE(world.told.empty());
  world.send(call_text(8, kernel, {{"progressToken", std::string(1'000, 'x')}}));
  EXPECT_FALSE(world.told.empty());
}

TEST(Call, ThatBreaksIsAnswered) {
  World world;
  world.initialize();
  world.verifier.verdict = [](const Job&) -> Verdict { throw std::runtime_error("a bug"); };
  EXPECT_THAT(world.send(call_text(7)), HasSubstr("the verifier broke: a bug"));
}

TEST(Cancellation, StopsTheJudgingAndItsAnswer) {
  World world;
  world.initialize();
  world.verifier.hold();
  auto answer = world.begin(call_text("a"));
  EXPECT_EQ(world.session->calls(), 1U);
  world.send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}})");
  world.until([&] { return answer->has_value(); });
  EXPECT_EQ(**answer, "");
  EXPECT_EQ(world.verifier.stopped, 1);
  EXPECT_EQ(world.session->calls(), 0U);
}

TEST(Cancellation, OfAnotherIdChangesNothing) {
  World world;
  world.initialize();
  world.verifier.hold();
  auto answer = world.begin(call_text(1));
  for (const char* id : {"\"1\"", "2", "null", "{}", "[1]"})
    world.send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" +
               std::string(id) + "}}");
  world.send(R"({"jsonrpc":"2.0","method":"notifications/cancelled"})");
  world.verifier.release();
  world.until([&] { return answer->has_value(); });
  EXPECT_THAT(**answer, HasSubstr("\"correct\""));
}

TEST(Cancellation, OfOneOfTwoEqualWorksLeavesTheOther) {
  World world;
  world.initialize();
  world.verifier.hold();
  auto first = world.begin(call_text(1));
  auto second = world.begin(call_text(2));
  EXPECT_EQ(world.verifier.judged.size(), 1U);
  world.send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})");
  world.until([&] { return first->has_value(); });
  world.verifier.release();
  world.until([&] { return second->has_value(); });
  EXPECT_EQ(**first, "");
  EXPECT_THAT(**second, HasSubstr("\"correct\""));
}

TEST(Calls, GoOnBesideOneAnotherUpToALimit) {
  World world;
  world.initialize();
  world.verifier.hold();
  std::vector<std::shared_ptr<std::optional<std::string>>> answers;
  for (std::size_t i = 0; i < most_calls; ++i)
    answers.push_back(world.begin(call_text(i, std::string(kernel) + "# " + std::to_string(i))));
  EXPECT_EQ(world.verifier.judged.size(), most_calls);
  EXPECT_EQ(code_of(json::parse(world.send(call_text(99))).get_object()), -32000);
  EXPECT_EQ(code_of(json::parse(world.send(call_text(0))).get_object()), -32600);  // an id in use
  EXPECT_EQ(code_of(world.ask("ping")), 0);
  world.verifier.release();
  for (const auto& answer : answers) world.until([&] { return answer->has_value(); });
}

TEST(EndOfTheSession, StopsItsCalls) {
  World world;
  world.initialize();
  world.verifier.hold();
  auto answer = world.begin(call_text(1));
  world.session->end("the client has left");
  world.until([&] { return answer->has_value(); });
  EXPECT_EQ(**answer, "");
  EXPECT_EQ(world.verifier.stopped, 1);
}

TEST(Resources, AreThePagesAndTheVerdicts) {
  World world;
  world.call("verify", pair());
  json::object listed = world.ask("resources/list");
  std::string text = json::serialize(listed);
  EXPECT_THAT(text, HasSubstr("kernelwright://docs/SKILL.md"));
  EXPECT_THAT(text, HasSubstr("kernelwright://verdict/v1"));
  json::object page = world.ask("resources/read", {{"uri", "kernelwright://docs/verdict.md"}});
  EXPECT_THAT(std::string(page.at("result").at("contents").at(0).at("text").get_string()),
              HasSubstr("counts_reason"));
  json::object verdict = world.ask("resources/read", {{"uri", "kernelwright://verdict/v1"}});
  EXPECT_THAT(std::string(verdict.at("result").at("contents").at(0).at("text").get_string()),
              HasSubstr("kernelwright.verdict/1"));
}

TEST(Resource, ThatIsUnknownIsAnError) {
  World world;
  world.initialize();
  for (const char* uri :
       {"kernelwright://verdict/v1", "kernelwright://docs/../secret", "file:///etc/passwd", ""})
    EXPECT_EQ(code_of(world.ask("resources/read", {{"uri", uri}})), -32002) << uri;
  EXPECT_EQ(code_of(world.ask("resources/read", {{"uri", 1}})), -32602);
}

TEST(Verdicts, OfASessionAreLimited) {
  VerdictShelf shelf;
  for (std::size_t i = 0; i < VerdictShelf::most + 5; ++i) shelf.add("a", "{}");
  EXPECT_EQ(shelf.all().size(), VerdictShelf::most);
  EXPECT_EQ(shelf.find("v5"), nullptr);
  EXPECT_NE(shelf.find("v6"), nullptr);
  for (int i = 0; i < 40; ++i) shelf.add("large", std::string(std::size_t{1} << 20, 'x'));
  EXPECT_LE(shelf.all().size(), 16U);
}

}  // namespace
}  // namespace kw::mcp::test
