// The parts of the service, each alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "base/http/access.h"
#include "serve/dispatcher.h"
#include "serve/entries.h"
#include "serve/evaluation_json.h"
#include "serve/owners.h"
#include "serve/queue.h"
#include "serve/routes.h"

namespace kw::service::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

EntryPtr entry(std::int64_t seq, int priority = 0, const std::string& work = "", bool fresh = false) {
  auto made = std::make_shared<Entry>();
  made->record.id = "e" + std::to_string(seq);
  made->seq = seq;
  made->priority = priority;
  made->work_key = work;
  made->fresh = fresh;
  return made;
}

EntryPtr entry_of(const std::string& owner, std::int64_t seq, int priority = 0) {
  EntryPtr made = entry(seq, priority);
  made->record.id = scoped_id(owner, made->record.id);
  return made;
}

std::size_t none_runs(std::string_view /*owner*/) {
  return 0;
}

// The order in which they start where nothing runs.
std::vector<std::int64_t> starts(Queue& queue) {
  std::vector<std::int64_t> all;
  while (EntryPtr next = queue.pop(none_runs)) all.push_back(next->seq);
  return all;
}

std::vector<std::int64_t> numbers(const std::vector<EntryPtr>& entries) {
  std::vector<std::int64_t> all;
  for (const EntryPtr& each : entries) all.push_back(each->seq);
  return all;
}

TEST(Queue, TheMoreUrgentGoesFirstAndEqualOnesAsTheyCame) {
  Queue queue;
  for (auto [seq, priority] : {std::pair{1, 0}, {2, 7}, {3, -7}, {4, 7}, {5, 0}})
    queue.push(entry(seq, priority));
  EXPECT_THAT(starts(queue), ElementsAre(2, 4, 1, 5, 3));
  EXPECT_TRUE(queue.empty());
}

TEST(Queue, OneThatHadItsTurnBeforeKeepsItsPlace) {
  Queue queue;
  queue.push(entry(1));
  queue.push(entry(2));
  EntryPtr first = queue.pop(none_runs);
  queue.push(entry(3));
  queue.push(first);
  EXPECT_THAT(starts(queue), ElementsAre(1, 2, 3));
}

TEST(Queue, EqualWorkIsTakenTogetherButFreshOnesAreNot) {
  Queue queue;
  queue.push(entry(1, 0, "w"));
  queue.push(entry(2, 5, "w"));
  queue.push(entry(3, 0, "w", true));
  queue.push(entry(4, 0, "other"));
  EXPECT_THAT(numbers(queue.take_equal("w")), ElementsAre(1, 2));
  EXPECT_TRUE(queue.take_equal("w").empty());
  EXPECT_EQ(queue.size(), 2U);
}

TEST(Queue, WorksWithoutAKeyAreNotEqual) {
  Queue queue;
  for (int seq : {1, 2}) queue.push(entry(seq));
  EXPECT_FALSE(may_share(*entry(3)));
  EXPECT_TRUE(queue.take_equal("").empty());
}

TEST(Queue, WhatIsRemovedIsGoneAndWhatIsNotThereStaysAway) {
  Queue queue;
  EntryPtr one = entry(1, 3, "w");
  queue.push(one);
  queue.remove(*one);
  queue.remove(*one);
  queue.remove(*entry(9));
  EXPECT_TRUE(queue.empty());
  EXPECT_TRUE(queue.take_equal("w").empty());
}

TEST(Queue, ItCountsWhoComesBefore) {
  Queue queue;
  EntryPtr one = entry(4);
  for (const EntryPtr& each : {entry(1, 5), entry(2), entry(3, -1), one, entry(5)}) queue.push(each);
  EXPECT_EQ(queue.ahead_of(*one), 2U);
}

TEST(Queue, OwnersTakeTurnsWhateverTheirBacklogAndPriority) {
  Queue queue;
  for (int seq : {1, 2, 3, 4}) queue.push(entry_of("alice", seq, 100));
  queue.push(entry_of("bob", 5));
  queue.push(entry_of("bob", 6, 1));
  queue.push(entry(7));
  EXPECT_THAT(starts(queue), ElementsAre(7, 1, 6, 2, 5, 3, 4));
}

TEST(Queue, TheOwnerWithTheFewestRunningWorksIsNext) {
  Queue queue;
  queue.push(entry_of("alice", 1));
  queue.push(entry_of("bob", 2));
  auto running = [](std::string_view owner) -> std::size_t { return owner == "alice" ? 3 : 2; };
  EXPECT_EQ(queue.pop(running)->seq, 2);
}

TEST(Queue, AnOwnerWhoseOneEvaluationIsAlwaysWaitingPassesNobody) {
  Queue queue;
  queue.push(entry_of("alice", 1));
  std::vector<std::int64_t> all;
  for (int seq : {10, 11, 12}) queue.push(entry_of("bob", seq));
  for (int seq : {2, 3, 4}) {
    all.push_back(queue.pop(none_runs)->seq);
    queue.push(entry_of("alice", seq));
  }
  EXPECT_THAT(all, ElementsAre(1, 10, 2));
}

TEST(Queue, ThePlaceIsAmongTheOwnersOwn) {
  Queue queue;
  EntryPtr last = entry_of("bob", 9);
  for (const EntryPtr& each : {entry_of("alice", 1), entry_of("bob", 2), entry(3), last}) queue.push(each);
  EXPECT_EQ(queue.ahead_of(*last), 1U);
}

TEST(RateLimit, TheBurstComesBackWithTime) {
  http::RateLimit limit(2);
  http::RateLimit::Time now{};
  int passed = 0;
  while (limit.seconds_to_wait("192.0.2.1", now) == 0) ++passed;
  EXPECT_EQ(passed, 10);
  EXPECT_EQ(limit.seconds_to_wait("192.0.2.1", now), 1);
  EXPECT_EQ(limit.seconds_to_wait("192.0.2.1", now + 500ms), 0);
  EXPECT_EQ(limit.seconds_to_wait("192.0.2.1", now + 500ms), 1);
  EXPECT_EQ(limit.seconds_to_wait("192.0.2.2", now), 0);
}

TEST(RateLimit, ANetworkOfIpv6CountsAsOneAddress) {
  EXPECT_EQ(http::client_of("2001:db8:1:2:3:4:5:6"), http::client_of("2001:db8:1:2::9"));
  EXPECT_NE(http::client_of("2001:db8:1:2::1"), http::client_of("2001:db8:1:3::1"));
  EXPECT_EQ(http::client_of("192.0.2.7"), "192.0.2.7");
}

TEST(RateLimit, AMillionAddressesAreNotRememberedForEver) {
  http::RateLimit limit(1);
  http::RateLimit::Time now{};
  for (int i = 0; i < 100'000; ++i)
    EXPECT_EQ(limit.seconds_to_wait("a" + std::to_string(i), now + std::chrono::milliseconds(i)), 0);
  EXPECT_LT(limit.remembered(), 20'000U);
}

TEST(Routes, AnExactPathComesBeforeAWiderOne) {
  Routes routes;
  routes.add({"POST", "/a/b", {}});
  routes.add({"GET", "/a/*", {}});
  EXPECT_EQ(routes.find("POST", "/a/b").route->path, "/a/b");
  EXPECT_EQ(routes.find("GET", "/a/b").allowed, "POST");
  auto found = routes.find("HEAD", "/a/x%2Fy/z");
  ASSERT_NE(found.route, nullptr);
  EXPECT_EQ(found.rest, "x/y/z");
  EXPECT_EQ(routes.find("GET", "/a/").route, nullptr);
  EXPECT_EQ(routes.find("GET", "/b").allowed, "");
}

TEST(Shelf, TheOldestMakeRoom) {
  Shelf shelf(3'000);
  for (int i = 0; i < 10; ++i) {
    EvaluationState record;
    record.id = std::to_string(i);
    record.verdict = std::make_shared<const std::string>(700, 'x');
    shelf.put(record);
  }
  EXPECT_EQ(shelf.find("0"), nullptr);
  ASSERT_NE(shelf.find("9"), nullptr);
  EXPECT_EQ(shelf.find("9")->verdict->size(), 700U);
}

Job named(const std::string& id, const std::string& kernel_name) {
  Job job;
  job.id = id;
  job.task.task_id = "task of " + id;
  job.candidate.kernel_name = kernel_name;
  return job;
}

TEST(Verdicts, ASharedOneBearsNoNameOfWhomItWasMadeFor) {
  Verdict verdict;
  verdict.status = Status::correct;
  verdict.stage = Stage::done;
  std::string text = verdict_text(verdict, named("a", "theirs"));
  auto shared = boost::json::parse(shared_verdict_text(text, named("b", ""))).as_object();
  EXPECT_EQ(shared.at("id"), "b");
  EXPECT_EQ(shared.at("task_id"), "task of b");
  EXPECT_TRUE(shared.at("kernel_name").is_null());
}

}  // namespace
}  // namespace kw::service::test
