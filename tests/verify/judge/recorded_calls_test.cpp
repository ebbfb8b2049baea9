// Verdicts by replays: the live calls before the recordings, and the recordings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <string>

#include "verdict_world.h"

namespace kw::verify {
namespace {

using namespace test;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using wire::Body;

// ---- live calls

class WrongCall : public ::testing::TestWithParam<int> {};

// The reference's two checks are the first judgements; then come two calls, the first result again, and two
// recorded calls.
TEST_P(WrongCall, MakesTheVerdictIncorrectAndNothingIsReplayed) {
  VerdictWorld world;
  world.fake.when("oracle", Body::Judge, judges_wrong(), GetParam());
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::incorrect);
  EXPECT_EQ(verdict.error_class, ErrorClass::wrong_value);
  EXPECT_EQ(verdict.stage, Stage::judge);
  EXPECT_EQ(world.fake.count("replayer", Body::LoadRecording), 1);
  EXPECT_FALSE(verdict.speedup);
}

INSTANTIATE_TEST_SUITE_P(Each, WrongCall, ::testing::Values(2, 3, 4, 5, 6, 7));

TEST(LiveCalls, AResultThatALaterCallChangesIsSaidToBe) {
  VerdictWorld world;
  world.fake.when("oracle", Body::Judge, judges_wrong(), 4);
  EXPECT_THAT(world.run().error.value_or(""), StartsWith("the result of a call changed when a later call"));
}

TEST(LiveCalls, AnInputHandedBackIsNotJudgedAgain) {
  VerdictWorld world;
  world.fake.when("runner", Body::Call, [](const wire::BodyUnion& asked, Reaction& usual) {
    if (asked.AsCall()->previous) usual.answer.AsReturned()->outputs.reset();
  });
  world.settings.timing_trials = 0;
  EXPECT_EQ(world.run().status, Status::correct);
}

TEST(LiveCalls, ACandidateThatDiesWhileItsEarlierResultIsAskedForIsBlamed) {
  VerdictWorld world;
  world.fake.when("runner", Body::Call, dies(SIGKILL), 3);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.error_class, ErrorClass::process_died);
  EXPECT_EQ(verdict.fault, Fault::kernel);
}

TEST(LiveCalls, AnOracleThatCannotJudgeTheEarlierResultIsNotTheCandidates) {
  VerdictWorld world;
  world.fake.when("oracle", Body::Judge, fails("judge", "infrastructure", "no"), 4);
  EXPECT_EQ(world.run().fault, Fault::infrastructure);
}

TEST(LiveCalls, RightAsConstructedIsRight) {
  VerdictWorld world;
  world.fake.when("runner", Body::Load,
                  says<wire::LoadedT>([](auto& loaded) { loaded.weights_differ = true; }));
  world.fake.when("oracle", Body::Judge, judges_wrong(), 2);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_EQ(world.fake.count("runner", Body::Load), 3);
}

TEST(LiveCalls, WrongEitherWayIsWrongAsItWasLoaded) {
  VerdictWorld world;
  world.fake.when("runner", Body::Load,
                  says<wire::LoadedT>([](auto& loaded) { loaded.weights_differ = true; }));
  world.fake.when("oracle", Body::Judge, judges_wrong(), 2);
  world.fake.when("oracle", Body::Judge,
                  all({judges_wrong(), says<wire::JudgedT>([](auto& judged) { judged.error = "second"; })}),
                  3);
  EXPECT_EQ(world.run().error, "values differ");
}

// ---- recordings

TEST(Recording, ACallThatTheRecorderRefusesIsJudgedInItsProcess) {
  VerdictWorld world;
  world.fake.when("runner", Body::Record, fails("record", "unsupported_candidate", "a graph is captured"), 1);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_EQ(verdict.trust, Trust::in_process);
  EXPECT_EQ(VerdictWorld::why_no_replay(verdict), "a graph is captured");
}

TEST(Recording, ACandidateThatDiesUnderTheRecorderIsBlamed) {
  VerdictWorld world;
  world.fake.when("runner", Body::Record, dies(SIGSEGV), 1);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.error_class, ErrorClass::process_died);
  EXPECT_EQ(verdict.stage, Stage::record);
}

TEST(Recording, ARecordingWithoutItsPartsIsNoMessage) {
  VerdictWorld world;
  world.fake.when("runner", Body::Record, [](const auto&, Reaction& usual) { usual.fds.clear(); }, 1);
  EXPECT_THAT(world.run().error.value_or(""), HasSubstr("a recording without its parts"));
}

TEST(Recording, AnOutputOnTheHostIsJudgedInItsProcess) {
  VerdictWorld world;
  world.fake.when("runner", Body::Record,
                  says<wire::RecordedT>([](auto& recorded) { recorded.outputs->tensor->device = "cpu"; }), 2);
  EXPECT_EQ(VerdictWorld::why_no_replay(world.run()), "an output lies on the host");
}

TEST(Recording, InputsThatCannotBeDrawnForItAreNotTheCandidates) {
  VerdictWorld world;
  world.fake.when("oracle", Body::Draw, fails("prepare", "infrastructure", "no memory"), 6);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.fault, Fault::infrastructure);
  EXPECT_EQ(verdict.stage, Stage::prepare);
}

TEST(Recording, IsKeptWhereAFolderIsNamed) {
  VerdictWorld world;
  auto folder = std::filesystem::temp_directory_path() / "kw_kept_recordings";
  std::filesystem::remove_all(folder);
  world.settings.recordings = folder;
  world.settings.timing_trials = 0;
  world.job.id = "a/b c";
  world.run();
  EXPECT_TRUE(std::filesystem::exists(folder / "a_b_c.0.kwr"));
  EXPECT_TRUE(std::filesystem::exists(folder / "a_b_c.1.kwr"));
  std::filesystem::remove_all(folder);
}

TEST(Recording, ThatCannotBeKeptIsAFindingAndNoMore) {
  VerdictWorld world;
  world.settings.recordings = "/proc/none";
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_TRUE(VerdictWorld::finds(verdict, "the recording was not kept"));
}

}  // namespace
}  // namespace kw::verify
