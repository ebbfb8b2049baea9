// Recorded completions, played by the scripted model and read by the client.
#include "loop/model_client/scripted_model.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <filesystem>

#include "base/core/files.h"
#include "base/core/json.h"
#include "loop/model_client/recordings.h"
#include "world.h"

namespace kw::llm {
namespace {

using namespace std::chrono_literals;
namespace json = boost::json;
using testing::HasSubstr;

const std::string sample = KW_SOURCE_DIR "/examples/sample/";

class Scripted : public testing::Test {
 protected:
  Scripted() {
    std::string name = (std::filesystem::temp_directory_path() / "kw-llm-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~Scripted() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& text, const std::string& name = "traces.json") const {
    std::string path = folder_ + "/" + name;
    EXPECT_TRUE(write_file(path, text));
    return path;
  }

  // Conversations as recorded rows: each a list of completions.
  static std::string row(const std::string& reference, const std::vector<std::string>& completions) {
    json::array turns;
    for (const std::string& one : completions)
      turns.push_back(json::object{{"turn", turns.size() + 1}, {"full_completion", one}});
    return json::serialize(json::object{{"sample_key", "k"}, {"pytorch_code", reference}, {"turns", turns}});
  }

  void start(ScriptedOptions options, bool stream = true) {
    model = std::move(ScriptedModel::start(loop, std::move(options)).value());
    ServerOptions to;
    to.base_url = model->url();
    to.stream = stream;
    to.in_flight = 200;
    to.max_attempts = 1;
    client = std::move(test::run(loop, OpenAiClient::connect(loop, stop, to)).value());
  }

  static std::string question(const std::string& reference) {
    return "Convert:\n```python\n" + reference + "\n```";
  }

  // Asks with `answered` as the earlier answers.
  std::expected<ChatAnswer, ChatFailure> ask(const std::string& id, const std::string& reference,
                                             const std::vector<std::string>& answered = {}) {
    ChatRequest request{
        .id = id, .messages = {{"system", "s"}, {"user", question(reference)}}, .sampling = {}};
    for (const std::string& one : answered) {
      request.messages.push_back({"assistant", one});
      request.messages.push_back({"user", "again"});
    }
    return test::run(loop, client->chat(request));
  }

  async::Loop loop;
  async::Stop stop{loop};
  std::unique_ptr<ScriptedModel> model;
  std::unique_ptr<OpenAiClient> client;

 private:
  std::string folder_;
};

TEST_F(Scripted, TheSamplesConversationsArePlayedTurnByTurn) {
  start({.files = {sample + "multi_turn.json"}});
  json::value rows = parse_json(read_text_file(sample + "multi_turn.json").value()).value();
  for (const json::value& one : rows.as_array()) {
    std::string reference(one.at("pytorch_code").as_string());
    std::vector<std::string> answered;
    for (const json::value& turn : one.at("turns").as_array()) {
      auto answer = ask("sample/x/0/0/1", reference, answered);
      ASSERT_TRUE(answer) << answer.error().what;
      EXPECT_EQ(answer->content, std::string_view(turn.at("full_completion").as_string()));
      if (turn.at("reasoning").is_string())
        EXPECT_EQ(answer->reasoning, std::string_view(turn.at("reasoning").as_string()));
      answered.push_back(answer->content);
    }
  }
}

TEST_F(Scripted, TheSamplesSingleTurnsAreTheSamplesOfTheirTask) {
  for (bool stream : {true, false}) {
    start({.files = {sample + "single_turn.json"}}, stream);
    json::value rows = parse_json(read_text_file(sample + "single_turn.json").value()).value();
    std::map<std::string, int> met;
    for (const json::value& one : rows.as_array()) {
      if (!one.at("full_completion").is_string()) continue;
      std::string reference(one.at("pytorch_code").as_string());
      auto answer = ask("sample/a/b/" + std::to_string(met[reference]++) + "/0/1", reference);
      ASSERT_TRUE(answer) << answer.error().what;
      EXPECT_EQ(answer->content, std::string_view(one.at("full_completion").as_string()));
      EXPECT_EQ(answer->model, "scripted");
      EXPECT_GT(answer->usage.completion_tokens.value(), 0);
    }
  }
}

TEST_F(Scripted, SampleAndRoundChooseTheRecording) {
  start({.files = {file("[" + row("ref", {"a"}) + "," + row("ref", {"b"}) + "]")}});
  EXPECT_EQ(ask("t/0/0/1", "ref")->content, "a");
  EXPECT_EQ(ask("t/1/0/1", "ref")->content, "b");
  EXPECT_EQ(ask("t/2/0/1", "ref")->content, "a");
  EXPECT_EQ(ask("t/0/1/1", "ref")->content, "b");
  EXPECT_EQ(ask("t/1/1/1", "ref")->content, "b");
  EXPECT_EQ(ask("t/1/0/1~2", "ref")->content, "b");
}

TEST_F(Scripted, WithoutAnIdRecordingsFollowOneAnother) {
  start({.files = {file("[" + row("ref", {"a", "a2"}) + "," + row("ref", {"b", "b2"}) + "]")}});
  EXPECT_EQ(ask("", "ref")->content, "a");
  EXPECT_EQ(ask("", "ref")->content, "b");
  EXPECT_EQ(ask("", "ref", {"b"})->content, "b2");
  EXPECT_EQ(ask("", "ref", {"a"})->content, "a2");
  EXPECT_EQ(ask("", "ref")->content, "a");
}

TEST_F(Scripted, ATurnThatWasNotRecordedIsAnErrorThatSaysSo) {
  start({.files = {file("[" + row("ref", {"a", "b"}) + "]")}});
  auto answer = ask("t/0/0/3", "ref", {"a", "b"});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().fault, ChatFault::bad_request);
  EXPECT_THAT(answer.error().what, HasSubstr("the recording of k has 2 turns"));
}

TEST_F(Scripted, AReferenceThatWasNotRecordedIsNotFound) {
  start({.files = {file("[" + row("ref", {"a"}) + "]")}});
  EXPECT_THAT(ask("t/0/0/1", "other").error().what, HasSubstr("404"));
}

TEST_F(Scripted, TheLongestReferenceIsMeant) {
  start({.files = {file("[" + row("ref", {"a"}) + "," + row("ref = 1", {"b"}) + "]")}});
  EXPECT_EQ(ask("t/0/0/1", "ref = 1")->content, "b");
  EXPECT_EQ(ask("t/0/0/1", "ref = 2")->content, "a");
}

TEST_F(Scripted, LineEndsDoNotMatter) {
  start({.files = {file("[" + row("a\r\nb\r\n", {"x"}) + "]")}});
  EXPECT_EQ(ask("t/0/0/1", "a\nb")->content, "x");
}

TEST_F(Scripted, JsonLinesAreRead) {
  start({.files = {file(row("one", {"1"}) + "\n\n" + row("two", {"2"}) + "\n", "traces.jsonl")}});
  EXPECT_EQ(ask("t/0/0/1", "two")->content, "2");
  EXPECT_EQ(model->references(), 2U);
}

TEST_F(Scripted, OurOwnExportIsPlayedWithBothRounds) {
  Trace trace;
  trace.task.reference_code = "ref";
  trace.task.task_id = "sample/x";
  trace.task.sample_key = "sample_x";
  for (const char* content : {"first", "second"}) {
    Turn turn;
    turn.completion = content;
    turn.reasoning = "thought";
    Conversation round;
    round.turns = {turn};
    round.stop_reason = StopReason::max_turns_reached;
    trace.rounds.push_back(round);
  }
  start({.files = {file(json::serialize(multi_turn_json(trace)))}});
  EXPECT_EQ(ask("sample/x/0/0/1", "ref")->content, "first");
  EXPECT_EQ(ask("sample/x/0/1/1", "ref")->content, "second");
  EXPECT_EQ(ask("sample/x/0/1/1", "ref")->reasoning, "thought");
}

TEST_F(Scripted, AFileThatIsNoneIsAnErrorThatNamesIt) {
  for (const char* text : {"", "[]", "[1]", "{\"a\":1}", "not json"}) {
    std::string path = file(text);
    EXPECT_FALSE(ScriptedModel::start(loop, {.files = {path}})) << text;
  }
  auto failed = ScriptedModel::start(loop, {.files = {file("[1]")}});
  EXPECT_THAT(failed.error().what, HasSubstr("traces.json: row 1"));
  EXPECT_FALSE(ScriptedModel::start(loop, {.files = {"/nowhere/x.json"}}));
}

TEST_F(Scripted, TakesTheTimeItIsTold) {
  start({.files = {file("[" + row("ref", {std::string(5000, 'x')}) + "]")},
         .first_token = 40ms,
         .answer_time = 60ms});
  auto answer = ask("t/0/0/1", "ref");
  ASSERT_TRUE(answer);
  EXPECT_GE(answer->first_token_ms.value(), 40);
  EXPECT_LT(answer->first_token_ms.value(), answer->total_ms);
  EXPECT_GE(answer->total_ms, 100);
}

TEST_F(Scripted, TwoHundredConversationsAtOnce) {
  std::string rows;
  for (int i = 0; i < 200; ++i)
    rows += row("reference_" + std::to_string(i) + "_", {"answer " + std::to_string(i)}) + "\n";
  start({.files = {file(rows)}, .first_token = 20ms});
  std::vector<ChatRequest> requests;
  for (int i = 0; i < 200; ++i)
    requests.push_back({.id = "t/0/0/1",
                        .messages = {{"user", question("reference_" + std::to_string(i) + "_")}},
                        .sampling = {}});
  std::size_t left = requests.size();
  std::size_t right = 0;
  for (std::size_t i = 0; i < requests.size(); ++i)
    boost::asio::co_spawn(loop, client->chat(requests[i]),
                          [&, i](std::exception_ptr, std::expected<ChatAnswer, ChatFailure> answer) {
                            right += answer && answer->content == "answer " + std::to_string(i) ? 1 : 0;
                            if (--left == 0) loop.stop();
                          });
  loop.restart();
  loop.run();
  EXPECT_EQ(right, 200U);
}

TEST_F(Scripted, OtherPathsAreNotFound) {
  start({.files = {file("[" + row("ref", {"a"}) + "]")}});
  http::Client http(loop);
  http::Request request{.method = "GET", .url = model->url() + "/nothing", .headers = {}, .body = {}};
  EXPECT_EQ(test::run(loop, http.send(request, async::Deadline::in(2s), &stop))->status, 404);
  request = {.method = "POST", .url = model->url() + "/chat/completions", .headers = {}, .body = "{"};
  EXPECT_EQ(test::run(loop, http.send(request, async::Deadline::in(2s), &stop))->status, 400);
}

}  // namespace
}  // namespace kw::llm
