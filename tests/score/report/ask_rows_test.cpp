#include "score/report/ask_rows.h"

#include <gmock/gmock.h>

#include "base/async/loop.h"

namespace kw::scoring {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// Answers once `waits_for` requests were in flight together, or throws an object that is not a
// std::exception.
class FakeChat : public llm::ChatClient {
 public:
  async::Task<std::expected<llm::ChatAnswer, llm::ChatFailure>> chat(
      const llm::ChatRequest& request) override {
    most = std::max(most, ++in_flight);
    do co_await async::sleep_until(async::Deadline::in(1ms));
    while (most < waits_for);
    --in_flight;
    if (throws) throw 17;
    llm::ChatAnswer answer;
    answer.content = request.id;
    co_return answer;
  }
  const llm::ModelInfo& model() const override { return info_; }

  bool throws = false;
  std::size_t waits_for = 1;
  std::size_t in_flight = 0;
  std::size_t most = 0;

 private:
  llm::ModelInfo info_;
};

class FakeLog : public store::TraceLog {
 public:
  async::Task<Result<std::optional<Trace>>> find(const store::TraceKey&) override {
    co_return std::optional<Trace>();
  }
  async::Task<Result<>> begin(const store::TraceKey&, const Trace&) override { co_return Result<>(); }
  async::Task<Result<>> save(const store::TraceKey&, std::size_t, const Turn&) override {
    co_return Result<>();
  }
  async::Task<Result<>> save_judgement(const store::TraceKey&, std::size_t, const Turn&) override {
    co_return Result<>();
  }
  async::Task<Result<>> end(const store::TraceKey&, std::size_t, const Conversation&, bool) override {
    ++ended;
    co_return Result<>();
  }
  async::Task<Result<std::optional<Verdict>>> known_verdict(const std::string&) override {
    co_return std::optional<Verdict>();
  }

  std::size_t ended = 0;
};

struct World {
  // std::nullopt where it did not end in time.
  std::optional<Result<>> run(std::size_t in_flight, std::size_t samples, std::size_t count) {
    AskOptions options;
    options.in_flight = in_flight;
    options.samples = samples;
    std::vector<Question> questions(count);
    for (std::size_t i = 0; i < count; ++i) questions[i] = {"q" + std::to_string(i), {{"user", "?"}}};
    RowAsker asker(loop, stop, chat, log, std::move(options));
    std::optional<Result<>> result;
    async::spawn(
        loop,
        [](RowAsker* of, const std::vector<Question>* all, std::optional<Result<>>* into) -> async::Task<> {
          *into = co_await of->run(*all);
        }(&asker, &questions, &result));
    loop.run_for(2s);
    return result;
  }

  async::Loop loop;
  async::Stop stop{loop};
  FakeChat chat;
  FakeLog log;
};

TEST(RowAsker, HasSoManyRequestsInFlight) {
  World world;
  world.chat.waits_for = 3;
  auto ended = world.run(3, 2, 5);
  ASSERT_TRUE(ended && *ended);
  EXPECT_EQ(world.log.ended, 10U);
  EXPECT_EQ(world.chat.most, 3U);
}

TEST(RowAsker, WithoutRequestsInFlightAsksOneAtATime) {
  World world;
  auto ended = world.run(0, 1, 3);
  ASSERT_TRUE(ended && *ended);
  EXPECT_EQ(world.chat.most, 1U);
}

TEST(RowAsker, WhatIsThrownEndsIt) {
  World world;
  world.chat.throws = true;
  auto ended = world.run(2, 1, 5);
  ASSERT_TRUE(ended);
  ASSERT_FALSE(*ended);
  EXPECT_THAT(ended->error().what, HasSubstr("q0: an unknown exception"));
}

}  // namespace
}  // namespace kw::scoring
