// Ready means that a verdict is possible.
#include <gmock/gmock.h>

#include "service_world.h"

namespace kw::service::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Job probe() {
  Job job;
  job.id = "probe";
  job.task.reference_code = "r";
  job.candidate.code = "k";
  return job;
}

// A world with a probe of its verifier.
struct Probed : World {
  Probed() {
    end();
    open();
    verifier.begun.clear();
    facts.probe = probe();
  }
};

TEST(Health, ItIsReadyAfterARightVerdict) {
  Probed world;
  world.verifier.hold();
  world.judge();
  EXPECT_EQ(world.get("/health").status, 503);
  EXPECT_EQ(world.get("/health").at("status"), "starting");
  world.verifier.release();
  world.until([&] { return world.get("/health").status == 200; });
  EXPECT_EQ(world.get("/health").at("status"), "ready");
  EXPECT_EQ(world.get("/v1/service").body().at("environment").at("torch"), "2.11");
}

TEST(Health, NothingIsJudgedBeforeItIsReady) {
  Probed world;
  world.verifier.hold();
  world.judge();
  world.submit("a");
  world.until([&] { return !world.verifier.begun.empty(); });
  world.settle();
  EXPECT_THAT(world.verifier.begun, ElementsAre("probe"));
  world.verifier.release();
  world.until_state("a", "done");
  EXPECT_THAT(world.verifier.begun, ElementsAre("probe", "a"));
}

TEST(Health, AProbeThatGoesWrongIsTriedAgain) {
  Probed world;
  int probes = 0;
  world.verifier.verdict = [&](const Job& job) {
    Verdict verdict = correct_verdict(job);
    if (++probes == 1) {
      verdict.status = Status::incorrect;
      verdict.error = "off by one";
    }
    return verdict;
  };
  world.judge();
  world.until([&] { return probes == 1; });
  auto answer = world.get("/health");
  EXPECT_EQ(answer.at("status"), "failing");
  EXPECT_THAT(answer.at("why"), HasSubstr("off by one"));
  EXPECT_NE(answer.header("Retry-After"), "");
  world.until([&] { return world.get("/health").status == 200; });
}

TEST(Health, AProbeThatThrowsIsTriedAgain) {
  Probed world;
  int probes = 0;
  world.verifier.verdict = [&](const Job& job) {
    if (++probes == 1) throw std::runtime_error("no such luck");
    return correct_verdict(job);
  };
  world.judge();
  world.until([&] { return world.get("/health").status == 200; });
  EXPECT_EQ(probes, 2);
}

TEST(Health, FaultsInARowMakeItAskAgainBeforeMoreIsLost) {
  Probed world;
  bool broken = false;
  world.verifier.verdict = [&](const Job& job) {
    return broken ? infrastructure_fault(job) : correct_verdict(job);
  };
  world.judge();
  world.until([&] { return world.get("/health").status == 200; });
  broken = true;
  for (const char* id : {"a", "b", "c"}) {
    world.submit(id);
    world.until_state(id, "done");
  }
  auto answer = world.get("/health");
  EXPECT_EQ(answer.at("status"), "failing");
  world.submit("d");
  world.settle();
  EXPECT_EQ(world.state_of("d"), "queued");
  broken = false;
  world.until_state("d", "done");
  EXPECT_EQ(world.get("/health").status, 200);
  EXPECT_EQ(world.get("/v1/evaluations/d").body().at("verdict").at("status"), "correct");
}

TEST(Health, FaultsOfCandidatesAreNone) {
  Probed world;
  world.verifier.verdict = [&](const Job& job) {
    Verdict verdict = correct_verdict(job);
    if (job.id == "probe") return verdict;
    verdict.status = Status::failed;
    verdict.fault = Fault::kernel;
    return verdict;
  };
  world.judge();
  for (const char* id : {"a", "b", "c", "d"}) {
    world.submit(id);
    world.until_state(id, "done");
  }
  EXPECT_EQ(world.get("/health").status, 200);
}

}  // namespace
}  // namespace kw::service::test
