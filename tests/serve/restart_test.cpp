// Data that survives a restart, and data that must not pass to another service.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <filesystem>
#include <fstream>

#include "base/core/crypto.h"
#include "service_world.h"

namespace kw::service::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// SQLite waits this long for the service's own write to end.
constexpr int busy_ms = 10'000;

// SQL's result on the store while no service has it open.
std::int64_t count(const World& world, const std::string& what) {
  SQLite::Database database(world.options.store.string(), SQLite::OPEN_READWRITE, busy_ms);
  return database.execAndGet(what).getInt64();
}

void change(const World& world, const std::string& what) {
  SQLite::Database database(world.options.store.string(), SQLite::OPEN_READWRITE, busy_ms);
  database.exec(what);
}

TEST(Restart, WhatWasQueuedOrRunningIsJudgedInItsOldOrder) {
  World world;
  world.verifier.hold();
  world.submit("a");
  world.submit("b");
  world.submit("urgent", {{"priority", 1}});
  world.submit("c");
  world.kill();
  world.open();
  world.verifier.release();
  EXPECT_EQ(world.state_of("a"), "queued");
  world.judge();
  world.until_state("c", "done");
  EXPECT_THAT(world.verifier.begun, ElementsAre("urgent", "a", "b", "c"));
}

TEST(Restart, AVerdictIsThereAndIsNotGotAgain) {
  World world;
  world.submit("a", {{"note", "mine"}});
  world.until_state("a", "done");
  std::string before = world.get("/v1/evaluations/a").text;
  world.kill();
  world.verifier.release();
  world.open();
  world.judge();
  EXPECT_EQ(world.get("/v1/evaluations/a").text, before);
  EXPECT_EQ(world.submit("a", {{"note", "mine"}}).status, 200);
  EXPECT_EQ(world.submit("a").status, 409);
  EXPECT_THAT(world.verifier.begun, IsEmpty());
}

// What the third format of the store has added.
const char* const without_owners =
    "DROP INDEX by_end_of; DROP INDEX open_conversations_of; DROP TABLE owner_days; DROP TABLE owner_tries;"
    "ALTER TABLE evaluations DROP COLUMN owner; ALTER TABLE evaluations DROP COLUMN try_of;"
    "ALTER TABLE conversations DROP COLUMN owner; PRAGMA user_version = 2;";

TEST(Restart, WhatAStoreWithoutOwnersHasIsTheOperators) {
  World world;
  world.submit("a");
  world.until_state("a", "done");
  world.end();
  change(world, without_owners);
  world.options.key = "operator";
  OwnerRules alice;
  alice.name = "alice";
  alice.digests = {sha256_hex("hers")};
  world.options.owners = {alice};
  world.open();
  world.judge();
  EXPECT_EQ(world.ask({"GET", "/v1/evaluations/a", {{"X-API-Key", "operator"}}}).at("state"), "done");
  EXPECT_EQ(world.ask({"GET", "/v1/evaluations/a", {{"X-API-Key", "hers"}}}).status, 404);
}

TEST(Restart, AStoreOfTheFirstFormatIsUpgraded) {
  World world;
  world.verifier.hold();
  world.submit("a");
  world.kill();
  change(world, without_owners);
  change(world,
         "DROP TABLE conversations; DROP TABLE conversation_turns; ALTER TABLE requests DROP COLUMN task;"
         "PRAGMA user_version = 1");
  world.verifier.release();
  world.open();
  world.judge();
  world.until_state("a", "done");
  EXPECT_EQ(count(world, "SELECT count(*) FROM conversations"), 0);
}

TEST(Restart, ACancelledOneStaysCancelled) {
  World world;
  world.verifier.hold();
  world.submit("a");
  world.submit("b");
  world.del("/v1/evaluations/b");
  world.kill();
  world.verifier.release();
  world.open();
  world.judge();
  world.until_state("a", "done");
  EXPECT_EQ(world.get("/v1/evaluations/b").at("cause"), "cancelled by the client");
}

TEST(Restart, EqualWorkOfAnEarlierServiceIsNotJudgedAgain) {
  World world;
  world.submit("a", {{"kernel_code", "same"}});
  world.until_state("a", "done");
  world.verifier.hold();
  world.submit("blocks");
  world.submit("b", {{"kernel_code", "same"}, {"fresh", true}});
  world.kill();
  world.verifier.release();
  world.open();
  world.submit("c", {{"kernel_code", "same"}});  // while the protocol is unknown
  world.judge();
  world.until_state("c", "done");
  world.until_state("b", "done");
  EXPECT_THAT(world.verifier.begun, ElementsAre("blocks", "b"));
}

TEST(Restart, ADeadlineGoesOn) {
  World world;
  world.verifier.hold();
  world.options.clock = Clock(1'000'000);
  world.end();
  world.open();
  world.verifier.hold();
  world.judge();
  world.submit("near", {{"deadline_s", 20}});
  world.submit("far", {{"deadline_s", 2000}});
  world.kill();
  world.options.clock = Clock(1'030'000);
  world.open();
  world.until_state("near", "cancelled");
  EXPECT_EQ(world.get("/v1/evaluations/near").at("cause"), "deadline");
  EXPECT_EQ(world.state_of("far"), "queued");
}

TEST(Restart, AClockThatWentBackGivesNoMoreTimeThanThereWas) {
  World world;
  world.end();
  world.options.clock = Clock(9'000'000'000);
  world.open();
  world.verifier.hold();
  world.judge();
  world.submit("a", {{"deadline_s", 0.2}});
  world.kill();
  world.options.clock = Clock(1'000);
  world.open();
  world.until_state("a", "cancelled");
}

TEST(Restart, WhatIsOldGoes) {
  World world;
  world.submit("a");
  world.until_state("a", "done");
  world.end();
  world.options.retention = 3600s;
  world.options.clock = Clock(Clock::of_this_machine().now_ms() + 3'500'000);
  world.open();
  world.settle();
  EXPECT_EQ(world.state_of("a"), "done");
  world.end();
  world.options.clock = Clock(Clock::of_this_machine().now_ms() + 3'700'000);
  world.open();
  world.until([&] { return world.get("/v1/evaluations/a").status == 404; });
}

TEST(Restart, WhatWaitsIsNeverTooOld) {
  World world;
  world.verifier.hold();
  world.submit("a");
  world.kill();
  world.options.retention = 1s;
  world.options.clock = Clock(Clock::of_this_machine().now_ms() + 3'700'000);
  world.verifier.release();
  world.open();
  world.settle();
  EXPECT_EQ(world.state_of("a"), "queued");
}

TEST(Restart, ADrainedServiceStoresWhatEndsAndLeavesTheRest) {
  World world;
  world.verifier.hold();
  world.submit("a");
  world.submit("b");
  bool drained = false;
  boost::asio::co_spawn(world.loop, world.service->drain(10s),
                        [&](const std::exception_ptr&) { drained = true; });
  world.until([&] { return world.get("/health").at("status") == "draining"; });
  auto refused = world.submit("c");
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.header("Retry-After"), "");
  world.verifier.release();
  world.until([&] { return drained; });
  EXPECT_EQ(world.state_of("a"), "done");
  EXPECT_EQ(world.state_of("b"), "queued");
  world.service.reset();
  EXPECT_EQ(count(world, "SELECT count(*) FROM evaluations WHERE state = 0"), 1);
  world.open();
  world.judge();
  world.until_state("b", "done");
  EXPECT_THAT(world.verifier.begun, ElementsAre("a", "b"));
}

TEST(Restart, WhatDoesNotEndWhileDrainingIsStoppedAndLeft) {
  World world;
  world.verifier.hold();
  world.submit("a");
  std::optional<Answer> waiting;
  world.begin({"GET", "/v1/evaluations/a?wait_s=60"}, &waiting);
  bool drained = false;
  boost::asio::co_spawn(world.loop, world.service->drain(20ms),
                        [&](const std::exception_ptr&) { drained = true; });
  world.until([&] { return drained && waiting.has_value(); });
  EXPECT_THAT(world.verifier.stopped, ElementsAre("a"));
  EXPECT_EQ(waiting->at("state"), "queued");
  world.service.reset();
  EXPECT_EQ(count(world, "SELECT count(*) FROM evaluations WHERE state = 0"), 1);
}

TEST(Restart, ASecondServiceOnOneStoreIsRefused) {
  World world;
  Options same = world.options;
  auto second = Service::open(world.loop, world.stop, same);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().what, HasSubstr("in use by process"));
  EXPECT_THAT(second.error().remedy, HasSubstr("--store"));
}

TEST(Restart, AStoreOfANewerVersionIsRefused) {
  World world;
  world.end();
  change(world, "PRAGMA user_version = 99");
  auto opened = world.try_open();
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().what, HasSubstr("newer version (format 99"));
}

TEST(Restart, AFileOfAnotherKindIsRefusedAndLeftAsItIs) {
  World world;
  world.end();
  world.options.store =
      world.folder.write("letter.txt", "a letter to a friend, long enough to have sixteen bytes");
  EXPECT_FALSE(world.try_open());
  EXPECT_EQ(std::filesystem::file_size(world.options.store), 55U);
}

TEST(Restart, ARequestThatCannotBeReadAnyMoreIsCancelledAndHoldsUpNothing) {
  World world;
  world.verifier.hold();
  world.submit("a");
  world.submit("b");
  world.kill();
  world.verifier.release();
  change(world, "UPDATE requests SET request = '{\"kernel_code\": 7}' WHERE seq = 1");
  world.open();
  world.judge();
  world.until_state("b", "done");
  world.until_state("a", "cancelled");
  EXPECT_THAT(world.get("/v1/evaluations/a").at("cause"), HasSubstr("its stored request cannot be read"));
}

TEST(Restart, OfWhatIsDoneOnlyTheVerdictTakesSpace) {
  World world;
  json::array list;
  for (int i = 0; i < 100; ++i)
    list.push_back(
        evaluation(std::to_string(i), {{"kernel_code", std::string(20'000, 'x') + std::to_string(i)}}));
  world.post("/v1/evaluations/batch", json::object{{"evaluations", list}});
  for (int i = 0; i < 100; ++i) world.until_state(std::to_string(i), "done");
  world.end();
  EXPECT_EQ(count(world, "SELECT count(*) FROM requests"), 0);
  std::int64_t used = count(world,
                            "SELECT (p.page_count - f.freelist_count) * s.page_size FROM"
                            " pragma_page_count p, pragma_freelist_count f, pragma_page_size s");
  EXPECT_LT(used, count(world, "SELECT sum(length(verdict)) FROM verdicts") * 2 + 100'000);
}

// A full file system, as SQLite sees it.
TEST(Restart, AFullDiskRefusesSubmissionsAndLosesNoVerdict) {
  World world;
  world.end();
  {
    SQLite::Database database(world.options.store.string(), SQLite::OPEN_READWRITE, busy_ms);
    // Every inserted or changed row meets an error until the trigger is dropped.
    database.exec(
        "CREATE TRIGGER full BEFORE INSERT ON evaluations BEGIN SELECT RAISE(ABORT, 'disk full'); END");
  }
  world.open();
  world.judge();
  auto answer = world.submit("a");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.error("class"), "store");
  EXPECT_EQ(world.get("/health").at("status"), "failing");
  EXPECT_EQ(world.get("/v1/evaluations/a").status, 404);
  EXPECT_THAT(world.verifier.begun, IsEmpty());
  world.end();
  change(world, "DROP TRIGGER full");
  world.open();
  world.judge();
  EXPECT_EQ(world.submit("a").status, 202);
  world.until_state("a", "done");
  EXPECT_EQ(world.get("/health").at("status"), "ready");
}

TEST(Restart, AVerdictThatCannotBeWrittenIsNotToldAndIsWrittenLater) {
  World world;
  world.verifier.hold();
  world.submit("a");
  auto other =
      std::make_unique<SQLite::Database>(world.options.store.string(), SQLite::OPEN_READWRITE, busy_ms);
  other->exec("CREATE TRIGGER full BEFORE UPDATE ON evaluations BEGIN SELECT RAISE(ABORT, 'disk full'); END");
  world.verifier.release();
  world.until([&] { return world.get("/health").status == 503; });
  EXPECT_EQ(world.state_of("a"), "running");
  other->exec("DROP TRIGGER full");
  world.until_state("a", "done");
  EXPECT_EQ(world.get("/health").status, 200);
  EXPECT_THAT(world.verifier.begun, ElementsAre("a"));
}

}  // namespace
}  // namespace kw::service::test
