#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/http/server.h"
#include "doctor_server.h"
#include "support/world.h"

namespace kw::app {
namespace {

using testing::HasSubstr;

constexpr const char* thinker = "Qwen/Qwen3-235B-A22B-Thinking-2507-FP8";
constexpr const char* plain = "Qwen/Qwen3-235B-A22B-Instruct-2507-FP8";

std::string completion(const std::string& message, const std::string& finish = "stop") {
  return R"({"choices": [{"index": 0, "message": )" + message + R"(, "finish_reason": ")" + finish +
         R"("}]})";
}

Finding judged(const std::string& model, const std::string& body) {
  return judge_answer(llm::ModelInfo{model, 65536, "vllm"}, body).front();
}

TEST(DoctorAnswer, SeparateReasoningIsFine) {
  Finding found = judged(thinker, completion(R"({"content": "42", "reasoning": "17 and 25"})"));
  EXPECT_EQ(found.grade, Grade::ok);
  EXPECT_THAT(found.what, HasSubstr("its own field"));
}
TEST(DoctorAnswer, TagsInTheContentNameTheParser) {
  Finding found = judged("zai-org/GLM-4.5-Air", completion(R"({"content": "<think>17 and 25</think>42"})"));
  EXPECT_EQ(found.grade, Grade::less);
  EXPECT_THAT(found.remedy, HasSubstr("--reasoning-parser glm45"));
}
TEST(DoctorAnswer, AnEndTagAloneIsEnough) {
  EXPECT_THAT(judged(thinker, completion(R"({"content": "17 and 25</think>42"})")).remedy,
              HasSubstr("--reasoning-parser qwen3"));
}
TEST(DoctorAnswer, NoReasoningOfAModelThatReasonsIsNamed) {
  EXPECT_THAT(judged(thinker, completion(R"({"content": "Let me see", "reasoning": null})", "length")).remedy,
              HasSubstr("--reasoning-parser qwen3"));
}
TEST(DoctorAnswer, AModelWithoutReasoningIsFine) {
  EXPECT_EQ(judged(plain, completion(R"({"content": "42"})")).grade, Grade::ok);
}
TEST(DoctorAnswer, AParserTooManyIsNamed) {
  Finding found = judged(plain, completion(R"({"content": null, "reasoning_content": "42"})"));
  EXPECT_EQ(found.grade, Grade::missing);
  EXPECT_THAT(found.remedy, HasSubstr("without --reasoning-parser"));
}
TEST(DoctorAnswer, AllTokensInReasoningIsFine) {
  EXPECT_EQ(judged(thinker, completion(R"({"content": null, "reasoning": "still"})", "length")).grade,
            Grade::ok);
}
TEST(DoctorAnswer, SilenceAndNonsenseAreMissing) {
  EXPECT_EQ(judged(plain, completion(R"({"content": ""})")).grade, Grade::missing);
  EXPECT_EQ(judged(plain, "<html>hello</html>").grade, Grade::missing);
  EXPECT_EQ(judged(plain, R"({"choices": [3]})").grade, Grade::missing);
}
TEST(DoctorContext, AShortOneSaysHowLongItShouldBe) {
  Finding found = judge_context({"m", 8192, ""}).front();
  EXPECT_EQ(found.grade, Grade::less);
  EXPECT_THAT(found.remedy, HasSubstr("--max-model-len 16384"));
  EXPECT_EQ(judge_context({"m", 16384, ""}).front().grade, Grade::ok);
  EXPECT_EQ(judge_context({"m", {}, ""}).front().grade, Grade::less);
}
TEST(DoctorLaunch, ALineOrAFile) {
  Folder folder;
  Finding line = examine_launch_line("vllm serve m --enable-reasoning").front();
  EXPECT_EQ(line.grade, Grade::missing);
  EXPECT_THAT(line.what, HasSubstr("--enable-reasoning"));
  EXPECT_THAT(examine_launch_line(folder.write("s.sh", "vllm serve m --swap-space 4\n")).front().what,
              HasSubstr("--swap-space"));
  EXPECT_EQ(examine_launch_line("vllm serve m").front().grade, Grade::ok);
  EXPECT_THAT(examine_launch_line("missing.sh").front().what, HasSubstr("no launch script missing.sh"));
}

// A server on a separate loop that answers every path with the given text.
class Served {
 public:
  Served(std::string models, std::string answer, int status = 200)
      : models_(std::move(models)), answer_(std::move(answer)), status_(status) {
    server_ =
        std::move(*http::Server::listen(loop_, {}, [this](const http::Request& request, http::Responder& to) {
          return reply(request.url, to);
        }));
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~Served() {
    loop_.stop();
    thread_.join();
  }
  Findings examined(const std::string& model = "") {
    llm::ServerOptions options;
    options.base_url = server_->url() + "/v1";
    options.model = model;
    return examine_server(options);
  }

 private:
  async::Task<> reply(std::string path, http::Responder& to) {
    bool listing = path.ends_with("/models");
    co_await to.send(
        {listing ? 200 : status_, {{"Content-Type", "application/json"}}, listing ? models_ : answer_});
  }

  async::Loop loop_;
  std::string models_;
  std::string answer_;
  int status_;
  std::unique_ptr<http::Server> server_;
  std::thread thread_;
};

std::string listed(const std::string& id, const std::string& length) {
  return R"({"object": "list", "data": [{"id": ")" + id + R"(", "owned_by": "vllm", "max_model_len": )" +
         length + "}]}";
}

TEST(DoctorServer, AGoodOneIsFineThroughout) {
  Served server(listed(thinker, "65536"), completion(R"({"content": "42", "reasoning": "hm"})"));
  Findings found = server.examined();
  ASSERT_EQ(found.size(), 3U);
  for (const Finding& finding : found) EXPECT_EQ(finding.grade, Grade::ok) << finding.what;
  EXPECT_THAT(found[1].what, HasSubstr("65536"));
}
TEST(DoctorServer, FaultsAreAllTold) {
  Served server(listed("zai-org/GLM-4.5-Air", "4096"), completion(R"({"content": "<think>hm</think>42"})"));
  Findings found = server.examined();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_THAT(found[1].remedy, HasSubstr("--max-model-len"));
  EXPECT_THAT(found[2].remedy, HasSubstr("glm45"));
}
TEST(DoctorServer, ARefusalIsTold) {
  Served server(listed("m", "65536"), R"({"error": {"message": "no such template"}})", 400);
  EXPECT_THAT(server.examined().back().what, HasSubstr("400: no such template"));
}
TEST(DoctorServer, OneThatLimitsRequestsIsBusyAndNotMissing) {
  Served server(listed("m", "65536"), R"({"error": {"message": "slow down"}})", 429);
  Finding last = server.examined().back();
  EXPECT_EQ(last.grade, Grade::busy);
  EXPECT_THAT(last.what, HasSubstr("429: slow down"));
  EXPECT_THAT(last.remedy, HasSubstr("again"));
}
TEST(DoctorServer, AnExhaustedQuotaIsNotBusy) {
  Served server(listed("m", "65536"), R"({"error": {"message": "no more", "code": "insufficient_quota"}})",
                429);
  EXPECT_EQ(server.examined().back().grade, Grade::missing);
}
TEST(DoctorServer, AModelThatIsNotThereIsTold) {
  Served server(listed("m", "65536"), "");
  EXPECT_EQ(server.examined("other").back().grade, Grade::missing);
}
TEST(DoctorServer, NobodyThereIsTold) {
  llm::ServerOptions options;
  options.base_url = "http://127.0.0.1:9/v1";
  Findings found = examine_server(options);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].grade, Grade::missing);
  EXPECT_THAT(found[0].what, HasSubstr("cannot reach"));
}

}  // namespace
}  // namespace kw::app
