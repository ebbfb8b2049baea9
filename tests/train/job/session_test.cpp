// A shell script as the trainer, with every allowed and forbidden behaviour of a child.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>

#include "train/job/session.h"
#include "world.h"

namespace kw::training {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* done = R"(echo '{"event":"done","steps":3,"loss":0.5,"seconds":1,"path":"out"}' >&3)";

struct Trainer : testing::Test {
  Folder folder;
  std::vector<std::string> notes;
  std::size_t events = 0;
  std::function<void(const Told&)> on_event = [](const Told&) {};

  Outcome run(const std::string& script) {
    auto output = open_output_file(folder.path());
    SessionOptions options;
    options.command.arguments = {"/bin/sh", "-c", script};
    options.command.environment = {"PATH=/usr/bin:/bin"};
    options.command.output = output->get();
    options.output_name = (folder / output_file).string();
    auto outcome = run_session(options, {[this](const Told& told) { ++events, on_event(told); },
                                         [this](const std::string& note) { notes.push_back(note); }});
    EXPECT_TRUE(outcome) << fault(outcome);
    return outcome ? *outcome : Outcome{};
  }

  static std::string what(const Outcome& outcome) {
    return outcome.error ? outcome.error->what + " -> " + outcome.error->remedy : "";
  }
};

TEST_F(Trainer, OneThatIsDoneHasNoError) {
  Outcome outcome = run(done);
  EXPECT_EQ(what(outcome), "");
  ASSERT_TRUE(outcome.done);
  EXPECT_EQ(outcome.done->steps, 3U);
}

TEST_F(Trainer, IsEndedByAnExceptionOfOurs) {
  on_event = [](const Told&) { throw std::runtime_error("the disk is full"); };
  auto began = std::chrono::steady_clock::now();
  EXPECT_THROW(run(std::string(done) + "; exec sleep 60"), std::runtime_error);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
}

TEST_F(Trainer, ItsErrorIsHandedOn) {
  Outcome outcome = run(R"(echo '{"event":"error","what":"no GPU","remedy":"--device cpu"}' >&3; exit 1)");
  EXPECT_EQ(what(outcome), "no GPU -> --device cpu");
}

TEST_F(Trainer, EndingWithoutAWordIsAnErrorWithItsLastWords) {
  EXPECT_THAT(
      what(run("echo first; echo last >&2; exit 3")),
      AllOf(HasSubstr("exited with status 3"), HasSubstr("first\nlast"), HasSubstr("train.stderr.log")));
  EXPECT_THAT(what(run("exit 0")), HasSubstr("exited before it reported its result"));
}

TEST_F(Trainer, LastWordsAreOfThisRunAlone) {
  run("echo old; exit 1");
  EXPECT_THAT(what(run("echo new; exit 1")), AllOf(HasSubstr("new"), testing::Not(HasSubstr("old"))));
}

TEST_F(Trainer, OneThatIsKilledIsNamedBySignal) {
  EXPECT_THAT(what(run("kill -9 $$")), AllOf(HasSubstr("signal 9"), HasSubstr("out of memory")));
  EXPECT_THAT(what(run("kill -11 $$")), HasSubstr("signal 11"));
}

TEST_F(Trainer, RubbishIsCountedAndPassedOver) {
  EXPECT_EQ(what(run(std::string("echo rubbish >&3; echo '{' >&3; ") + done)), "");
  EXPECT_THAT(notes, Contains(HasSubstr("2 output lines of the trainer are not events")));
  EXPECT_EQ(events, 1U);
}

TEST_F(Trainer, AnEventWithoutALineBreakAtTheEndCounts) {
  EXPECT_TRUE(run(R"(printf '{"event":"done","steps":1,"path":"o"}' >&3)").done);
}

TEST_F(Trainer, AFloodEndsWell) {
  // 20 MB without a line break, then 20,000 steps.
  Outcome outcome = run(std::string(R"(head -c 20000000 /dev/zero | tr '\0' x >&3; echo >&3;
    yes '{"event":"step","step":1,"of":2,"loss":1}' | head -n 20000 >&3; )") +
                        done);
  EXPECT_EQ(what(outcome), "");
  EXPECT_EQ(events, 20001U);
}

TEST_F(Trainer, AFloodOfWordsDoesNotBlockIt) {
  EXPECT_EQ(what(run(std::string("head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; ") + done)), "");
}

TEST_F(Trainer, AHelperThatHangsOnIsEndedWithIt) {
  auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(what(run(std::string("sleep 300 & echo $! > /proc/$$/fd/1; ") + done)), "");
  EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
  int helper = std::atoi(read(folder / output_file).c_str());
  ASSERT_GT(helper, 1);
  for (int i = 0; i < 100 && ::kill(helper, 0) == 0; ++i) std::this_thread::sleep_for(20ms);
  std::string state = read("/proc/" + std::to_string(helper) + "/stat");
  EXPECT_TRUE(::kill(helper, 0) != 0 || state.find(") Z") != std::string::npos) << state;
}

TEST_F(Trainer, ASignalIsHandedOnAndTheChildHasItsTime) {
  on_event = [](const Told&) { ::raise(SIGINT); };
  Outcome outcome =
      run(R"(trap 'sleep 0.2; echo "{\"event\":\"checkpoint\",\"path\":\"c\",\"step\":1}" >&3; exit 130' INT
    echo '{"event":"notice","what":"up"}' >&3
    while true; do sleep 0.05; done)");
  EXPECT_TRUE(outcome.interrupted);
  EXPECT_EQ(what(outcome), "");
  EXPECT_GE(events, 2U);
}

TEST_F(Trainer, ASecondSignalKillsIt) {
  on_event = [](const Told&) { ::raise(SIGTERM); };
  auto began = std::chrono::steady_clock::now();
  Outcome outcome = run(R"(trap 'echo "{\"event\":\"notice\",\"what\":\"busy\"}" >&3' TERM
    echo '{"event":"notice","what":"up"}' >&3
    while true; do sleep 0.05; done)");
  EXPECT_TRUE(outcome.interrupted);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
  EXPECT_THAT(notes, Contains("stopped at once"));
}

TEST_F(Trainer, OneThatEndsJustThenIsDone) {
  on_event = [](const Told& told) {
    if (std::holds_alternative<Notice>(told.event)) ::raise(SIGTERM);
  };
  Outcome outcome =
      run(std::string(R"(trap : TERM; echo '{"event":"notice","what":"up"}' >&3; sleep 0.2; )") + done);
  EXPECT_FALSE(outcome.interrupted);
  EXPECT_TRUE(outcome.done);
}

TEST_F(Trainer, OneThatOthersStoppedIsInterrupted) {
  EXPECT_TRUE(run("exit 143").interrupted);
}

TEST_F(Trainer, AProgramThatIsNotThereIsSaid) {
  SessionOptions options;
  options.command.arguments = {"/no/such/python"};
  EXPECT_THAT(fault(run_session(options, {[](const Told&) {}, [](const std::string&) {}})),
              HasSubstr("cannot start /no/such/python"));
}

}  // namespace
}  // namespace kw::training
