// The pipeline passes each job its verdict, and ends after every kind of error.
#include "pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <stdexcept>

#include "loop/tasks/source.h"
#include "types/job.h"

namespace kw::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Job job(const std::string& id, const std::string& code) {
  Job made;
  made.id = id;
  made.task.task_id = "t";
  made.candidate.code = code;
  return made;
}

// Selected by the candidate's code: "throws", "infra" (once); all others are correct.
class Judge : public verify::Verifier {
 public:
  async::Task<std::optional<Verdict>> verify(const Job& of, async::Stop&) override {
    begun.push_back(of.id);
    most = std::max(most, ++running);
    co_await boost::asio::post(co_await boost::asio::this_coro::executor, boost::asio::use_awaitable);
    --running;
    if (of.candidate.code == "throws") throw std::runtime_error("boom");
    if (of.candidate.code == "infra" && !std::exchange(failed, true)) co_return no_verdict(of, "no oracle");
    Verdict verdict;
    verdict.status = Status::correct;
    verdict.stage = Stage::done;
    co_return verdict;
  }
  std::size_t width() const override { return 3; }
  const std::string& protocol() const override { return name; }
  std::string protocol_with(const JobOptions&) const override { return name; }

  std::string name = "p";
  std::vector<std::string> begun;
  std::size_t running = 0;
  std::size_t most = 0;
  bool failed = false;
};

struct World {
  Result<> run(const std::vector<Job>& jobs) {
    std::vector<JobOrError> all(jobs.begin(), jobs.end());
    return run(*job_list(std::move(all)));
  }

  Result<> run(Source& source) {
    Pipeline pipeline(loop, stop, judge, hooks);
    std::optional<Result<>> ended;
    boost::asio::co_spawn(loop, pipeline.run(source), [&](const std::exception_ptr& thrown, Result<> value) {
      ended = thrown ? fail("it threw") : std::move(value);
    });
    loop.restart();
    while (!ended && loop.poll() > 0) {
    }
    EXPECT_TRUE(ended) << "it waits for ever";
    return ended.value_or(fail("it waits for ever"));
  }

  std::vector<std::string> said;  // "id status"
  PipelineHooks hooks{.judged =
                          [this](const Job& of, const Verdict& verdict) {
                            if (of.id == breaks) throw std::runtime_error("the disk is full");
                            EXPECT_EQ(verdict.id, of.id);
                            said.push_back(of.id + " " + std::string(to_string(verdict.status)));
                          },
                      .bad_row = [](const RowError&) {},
                      .done_before = [](const Job&, const std::string&) { return false; },
                      .known = [](const std::string&) { return std::nullopt; }};
  std::string breaks;
  async::Loop loop;
  async::Stop stop{loop};
  Judge judge;
};

TEST(Pipeline, EachJobHasItsVerdictAndEqualOnesAreJudgedOnce) {
  World world;
  EXPECT_TRUE(world.run({job("a", "1"), job("b", "1"), job("c", "2")}));
  std::ranges::sort(world.said);
  EXPECT_THAT(world.said, ElementsAre("a correct", "b correct", "c correct"));
  EXPECT_THAT(world.judge.begun, ElementsAre("a", "c"));
}

TEST(Pipeline, NoMoreAreUnderWayThanTheVerifierIsWide) {
  World world;
  std::vector<Job> jobs;
  for (int i = 0; i < 20; ++i) jobs.push_back(job(std::to_string(i), std::to_string(i)));
  EXPECT_TRUE(world.run(jobs));
  EXPECT_EQ(world.said.size(), 20U);
  EXPECT_EQ(world.judge.most, 3U);
}

TEST(Pipeline, AVerifierThatThrowsEndsItsOwnWorkOnly) {
  World world;
  EXPECT_TRUE(world.run({job("a", "throws"), job("b", "1"), job("c", "2"), job("d", "3")}));
  std::ranges::sort(world.said);
  EXPECT_THAT(world.said, ElementsAre("a error", "b correct", "c correct", "d correct"));
}

TEST(Pipeline, AFaultOfOursIsNotHandedToEqualOnes) {
  World world;
  EXPECT_TRUE(world.run({job("a", "infra"), job("b", "infra"), job("c", "1"), job("d", "infra")}));
  std::ranges::sort(world.said);
  EXPECT_THAT(world.said, ElementsAre("a error", "b correct", "c correct", "d correct"));
}

TEST(Pipeline, AHookThatThrowsEndsTheRunWithWhatItSaid) {
  World world;
  world.breaks = "b";
  auto ended = world.run({job("a", "1"), job("b", "2"), job("c", "3"), job("d", "4"), job("e", "5")});
  ASSERT_FALSE(ended);
  EXPECT_THAT(ended.error().what, HasSubstr("the disk is full"));
  EXPECT_EQ(world.judge.running, 0U);
}

TEST(Pipeline, ASourceThatThrowsWaitsForWhatIsUnderWay) {
  struct Thrower : Source {
    Result<std::optional<JobOrError>> next() override {
      if (given++ == 0) return std::optional<JobOrError>(job("a", "1"));
      throw std::runtime_error("torn");
    }
    int given = 0;
  };
  World world;
  Thrower source;
  auto ended = world.run(source);
  ASSERT_FALSE(ended);
  EXPECT_THAT(ended.error().what, HasSubstr("torn"));
  EXPECT_THAT(world.said, ElementsAre("a correct"));
}

TEST(Pipeline, AStopEndsIt) {
  World world;
  world.stop.request("enough");
  EXPECT_TRUE(world.run({job("a", "1")}));
  EXPECT_THAT(world.said, ElementsAre());
}

}  // namespace
}  // namespace kw::app
