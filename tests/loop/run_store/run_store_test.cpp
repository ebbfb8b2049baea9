#include "loop/run_store/run_store.h"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <boost/json/serialize.hpp>
#include <csignal>

#include "loop/run_store/run_reader.h"
#include "store_world.h"

namespace kw::store {
namespace {

std::string text(const Trace& t) {
  return boost::json::serialize(multi_turn_json(t));
}

struct Store : testing::Test, World {
  void SetUp() override { ASSERT_TRUE(open()); }
};

TEST_F(Store, WhatWasSavedIsFound) {
  Trace t = three_turns();
  t.task.input_shapes = "{}";
  for (Turn& each : t.rounds[0].turns) each.judged_at = "2026-01-02T03:04:06.000000Z";
  keep(t);
  auto found = wait(store->find(key_of(t)));
  ASSERT_TRUE(found && *found);
  EXPECT_FALSE((*found)->ended_at.empty());
  (*found)->ended_at = t.ended_at;
  EXPECT_EQ(text(**found), text(t));
}

TEST_F(Store, ATraceThatIsNewIsNotFound) {
  auto found = wait(store->find({"kernelbook/8", 0}));
  ASSERT_TRUE(found);
  EXPECT_FALSE(*found);
}

TEST_F(Store, SamplesOfATaskAreTracesOfTheirOwn) {
  Trace first = three_turns();
  Trace second = trace();
  second.sample_number = 1;
  keep(first);
  keep(second);
  EXPECT_TRUE((*wait(store->find(key_of(second))))->rounds.empty());
}

TEST_F(Store, BeginningAgainChangesNothing) {
  Trace t = three_turns();
  keep(t);
  Trace other = t;
  other.prompt[0].content = "Another.";
  ASSERT_TRUE(wait(store->begin(key_of(t), other)));
  auto found = wait(store->find(key_of(t)));
  EXPECT_EQ((*found)->prompt[0].content, "Write kernels.");
  EXPECT_EQ((*found)->rounds[0].turns.size(), 3U);
}

TEST_F(Store, AVerdictAndFeedbackAreAddedToAnAnswerThatStays) {
  Trace t = trace();
  Turn answer = turn(1, "a");
  answer.reasoning = "First the tile.";
  ASSERT_TRUE(wait(store->begin(key_of(t), t)));
  ASSERT_TRUE(wait(store->save(key_of(t), 0, answer)));
  EXPECT_FALSE((*wait(store->find(key_of(t))))->rounds[0].turns[0].verdict);
  Turn judgement;
  judgement.verdict = judged(Status::incorrect);
  ASSERT_TRUE(wait(store->save_judgement(key_of(t), 0, judgement)));
  std::string judged_at = (*wait(store->find(key_of(t))))->rounds[0].turns[0].judged_at;
  EXPECT_FALSE(judged_at.empty());
  judgement.feedback = "Wrong.";
  ASSERT_TRUE(wait(store->save_judgement(key_of(t), 0, judgement)));
  Turn last = (*wait(store->find(key_of(t))))->rounds[0].turns[0];
  EXPECT_EQ(last.feedback, "Wrong.");
  EXPECT_EQ(last.judged_at, judged_at);
  EXPECT_EQ(last.verdict->status, Status::incorrect);
  EXPECT_EQ(last.reasoning, answer.reasoning);
  EXPECT_EQ(last.completion, answer.completion);
  EXPECT_EQ(last.code, answer.code);
  EXPECT_EQ(last.answered_at, answer.answered_at);
}

TEST_F(Store, AVerdictOnATurnThatWasNotSavedIsRefused) {
  Trace t = trace();
  ASSERT_TRUE(wait(store->begin(key_of(t), t)));
  auto saved = wait(store->save_judgement(key_of(t), 0, turn(1, "a", judged(Status::incorrect))));
  ASSERT_FALSE(saved);
  EXPECT_NE(saved.error().what.find("turn 1"), std::string::npos);
}

TEST_F(Store, ATurnOfATraceThatWasNotBegunIsRefused) {
  auto saved = wait(store->save({"kernelbook/8", 0}, 0, turn(1, "a")));
  ASSERT_FALSE(saved);
  EXPECT_NE(saved.error().what.find("kernelbook/8"), std::string::npos);
}

TEST_F(Store, WhatBrokeOffIsTakenUpAgain) {
  Trace t = trace();
  t.rounds.push_back({{turn(1, "a", judged(Status::error))}, StopReason::verifier_unavailable, "no GPU"});
  keep(t);
  ASSERT_TRUE(wait(store->begin(key_of(t), t)));
  ASSERT_TRUE(wait(store->save(key_of(t), 0, turn(1, "a", judged(Status::correct)))));
  auto open = wait(store->find(key_of(t)));
  EXPECT_FALSE((*open)->rounds[0].stop_reason);
  EXPECT_TRUE((*open)->ended_at.empty());
  ASSERT_TRUE(wait(store->end(key_of(t), 0, {{}, StopReason::success_correct, ""}, true)));
  auto ended = wait(store->find(key_of(t)));
  EXPECT_EQ((*ended)->rounds[0].stop_reason, StopReason::success_correct);
  EXPECT_EQ((*ended)->rounds[0].error, "");
  EXPECT_EQ((*ended)->rounds[0].turns.size(), 1U);
}

TEST_F(Store, AVerdictIsKnownByItsWorkAndNotByNames) {
  Trace t = three_turns();
  t.rounds[0].turns[1].verdict->work = "w";
  keep(t);
  auto known = wait(store->known_verdict("w"));
  ASSERT_TRUE(known && *known);
  EXPECT_EQ((*known)->speedup, 0.8);
  EXPECT_FALSE(*wait(store->known_verdict("v")));
  EXPECT_FALSE(*wait(store->known_verdict("")));
}

TEST_F(Store, AFaultOfTheInfrastructureIsNeverKnown) {
  Trace t = trace();
  Verdict broken = judged(Status::error);
  broken.fault = Fault::infrastructure;
  broken.work = "w";
  t.rounds.push_back({{turn(1, "a", broken)}, {}, ""});
  keep(t);
  EXPECT_FALSE(*wait(store->known_verdict("w")));
}

TEST_F(Store, TextsOfAnyBytesComeBack) {
  Trace t = trace();
  std::string odd("a\0b\xF0\x9F\x98\x80'\"\n", 10);
  t.rounds.push_back({{turn(1, odd)}, {}, ""});
  keep(t);
  EXPECT_EQ((*wait(store->find(key_of(t))))->rounds[0].turns[0].code, odd);
}

TEST_F(Store, TheSummaryCountsTracesOnce) {
  keep(three_turns());
  Trace failed = trace("8");
  failed.rounds.push_back({{turn(1, "a", judged(Status::failed))}, StopReason::max_turns_reached, ""});
  keep(failed);
  Trace open = trace("9");
  open.rounds.push_back({{turn(1, "b", judged(Status::correct, 1.5))}, {}, ""});
  keep(open);
  auto summary = wait(store->summary());
  ASSERT_TRUE(summary) << summary.error().what;
  EXPECT_EQ(summary->traces, 3U);
  EXPECT_EQ(summary->ended, 2U);
  EXPECT_EQ(summary->correct, 2U);
  EXPECT_EQ(summary->measured, 2U);
  EXPECT_EQ(summary->fast_1, 2U);
  EXPECT_EQ(summary->fast_2, 1U);
  EXPECT_EQ(summary->turns, 5U);
  EXPECT_EQ(summary->prompt_tokens, 500U);
  EXPECT_EQ(to_json(*summary).at("total"), 3);
  EXPECT_EQ(summary->completion_tokens, 100U);
  EXPECT_DOUBLE_EQ(summary->generation_s, 7.5);
  EXPECT_NE(in_words(*summary).find("3, of which 2 have ended"), std::string::npos);
}

TEST_F(Store, AReaderSeesTracesInTheOrderOfTheirBeginning) {
  for (const char* uuid : {"9", "1", "5"}) keep(trace(uuid));
  auto reader = RunReader::open(run());
  ASSERT_TRUE(reader) << reader.error().what;
  std::string order;
  while (auto next = *(*reader)->next()) order += next->task.task_id.back();
  EXPECT_EQ(order, "915");
}

TEST_F(Store, AReaderSeesOneMomentWhileTheRunGoesOn) {
  keep(trace("1"));
  auto reader = RunReader::open(run());
  ASSERT_TRUE(*(*reader)->next());
  keep(trace("2"));
  EXPECT_FALSE(*(*reader)->next());
  EXPECT_EQ((*(*RunReader::open(run()))->summary()).traces, 2U);
}

TEST_F(Store, ManyCallsAtOnceAreAllKept) {
  Trace t = trace();
  ASSERT_TRUE(wait(store->begin(key_of(t), t)));
  std::size_t kept = 0;
  for (std::size_t i = 1; i <= 500; ++i)
    boost::asio::co_spawn(loop, store->save(key_of(t), 0, turn(i, "a")),
                          [&](std::exception_ptr, Result<> saved) { kept += saved.has_value(); });
  loop.restart();
  loop.run();
  EXPECT_EQ(kept, 500U);
  EXPECT_EQ((*wait(store->find(key_of(t))))->rounds[0].turns.size(), 500U);
}

TEST_F(Store, OneCallThatFailsLeavesTheOthersOfItsTransaction) {
  Trace t = trace();
  ASSERT_TRUE(wait(store->begin(key_of(t), t)));
  std::size_t kept = 0;
  for (std::size_t i = 1; i <= 50; ++i) {
    TraceKey key = i % 2 == 0 ? key_of(t) : TraceKey{"kernelbook/none", 0};
    boost::asio::co_spawn(loop, store->save(key, 0, turn(i, "a")),
                          [&](std::exception_ptr, Result<> saved) { kept += saved.has_value(); });
  }
  loop.restart();
  loop.run();
  EXPECT_EQ(kept, 25U);
  EXPECT_EQ((*wait(store->find(key_of(t))))->rounds[0].turns.size(), 25U);
}

// Limits the size of files to so many bytes during its lifetime.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit now = before_;
    now.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_F(Store, WhatFindsNoSpaceIsAnErrorAndLaterCallsAreKept) {
  Trace t = trace();
  ASSERT_TRUE(wait(store->begin(key_of(t), t)));
  ASSERT_TRUE(wait(store->save(key_of(t), 0, turn(1, "a"))));
  {
    FullDisk disk(400'000);
    auto saved = wait(store->save(key_of(t), 0, turn(2, std::string(1'000'000, 'x'))));
    ASSERT_FALSE(saved);
    EXPECT_NE(saved.error().what.find("run.db"), std::string::npos);
    EXPECT_NE(saved.error().remedy.find("space"), std::string::npos);
  }
  ASSERT_TRUE(wait(store->save(key_of(t), 0, turn(3, "c"))));
  auto found = wait(store->find(key_of(t)));
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)->rounds[0].turns.size(), 2U);
}

}  // namespace
}  // namespace kw::store
