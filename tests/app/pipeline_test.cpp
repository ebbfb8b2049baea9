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
  PipelineHooks hooks{.judged = [this](const Job& of, const Verdict& verdict) -> Result<> {
                        if (of.id == breaks) throw std::runtime_error("the disk is full");
                        if (of.id == refused) return fail("the disk is full");
                        EXPECT_EQ(verdict.id, of.id);
                        said.push_back(of.id + " " + std::string(to_string(verdict.status)));
                        return {};
                      },
                      .bad_row = [](const RowError&) {},
                      .done_before = [](const Job&, const std::string&) { return false; },
                      .known = [](const std::string&) { return std::nullopt; }};
  std::string breaks;
  std::string refused;
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

TEST(Pipeline, AHookThatFailsStopsTheJudging) {
  World world;
  world.refused = "b";
  std::vector<Job> jobs;
  for (char name = 'a'; name <= 'i'; ++name) jobs.push_back(job(std::string(1, name), std::string(1, name)));
  auto ended = world.run(jobs);
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().what, "the disk is full");
  EXPECT_THAT(world.said, ElementsAre("a correct"));
  EXPECT_LE(world.judge.begun.size(), 3U);
  EXPECT_TRUE(world.stop.requested());
}

TEST(Pipeline, AnEarlierResultThatCannotBeReadEndsTheRun) {
  World world;
  world.hooks.done_before = [](const Job&, const std::string&) -> Result<bool> { return fail("it changed"); };
  auto ended = world.run({job("a", "1"), job("b", "2")});
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().what, "it changed");
  EXPECT_TRUE(world.judge.begun.empty());
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

// The ids of a source's jobs; "!" for an error at its end.
std::string ids_of(Source& source) {
  std::string ids;
  auto read =
      read_all(source, [&](const Job& each) { ids += each.id; }, [&](const RowError&) { ids += "?"; });
  return read ? ids : ids + "!";
}

bool needs(const Job& of) {
  return of.candidate.code == "needs";
}

TEST(LookAhead, EndsAtTheFirstJobThatNeedsMore) {
  std::size_t bad = 0;
  Ahead ahead = look_ahead(job_list({job("a", "1"), RowError{"f", 2, "torn", ""}, job("b", "needs"),
                                     RowError{"f", 4, "torn", ""}, job("c", "1")}),
                           needs, [&](const RowError&) { ++bad; });
  EXPECT_TRUE(ahead.needs_more);
  EXPECT_EQ(bad, 1U);
  EXPECT_EQ(ids_of(*ahead.source), "ab?c");
}

TEST(LookAhead, FindsThatNoJobNeedsMore) {
  Ahead ahead = look_ahead(job_list({job("a", "1"), job("b", "2")}), needs, [](const RowError&) {});
  EXPECT_FALSE(ahead.needs_more);
  EXPECT_EQ(ids_of(*ahead.source), "ab");
}

TEST(LookAhead, ASourceThatBreaksStillGivesTheJobsBefore) {
  struct Broken : Source {
    Result<std::optional<JobOrError>> next() override {
      if (given++ == 0) return std::optional<JobOrError>(job("a", "1"));
      return fail("torn");
    }
    int given = 0;
  };
  Ahead ahead = look_ahead(std::make_unique<Broken>(), needs, [](const RowError&) {});
  EXPECT_FALSE(ahead.needs_more);
  EXPECT_EQ(ids_of(*ahead.source), "a!");
}

TEST(LookAhead, ManyJobsAreNotReadToTheEnd) {
  struct Endless : Source {
    Result<std::optional<JobOrError>> next() override {
      return std::optional<JobOrError>(job(std::to_string(given++), "1"));
    }
    int given = 0;
  };
  auto source = std::make_unique<Endless>();
  Endless* endless = source.get();
  Ahead ahead = look_ahead(std::move(source), needs, [](const RowError&) {});
  EXPECT_TRUE(ahead.needs_more);
  EXPECT_LE(endless->given, 2000);
}

TEST(Pipeline, AStopEndsIt) {
  World world;
  world.stop.request("enough");
  EXPECT_TRUE(world.run({job("a", "1")}));
  EXPECT_THAT(world.said, ElementsAre());
}

}  // namespace
}  // namespace kw::app
