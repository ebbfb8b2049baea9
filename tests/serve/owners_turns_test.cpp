// Several owners on one service: their turns, the room of each, and new keys while it runs.
#include <gmock/gmock.h>

#include <boost/json/array.hpp>

#include "owners_world.h"

namespace kw::service::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Room, AnOwnerTakesHalfOfTheQueueAndTheNextFindsPlaces) {
  OwnersWorld world;
  world.options.queue = 4;
  world.reopen(owner("alice"));
  world.verifier.hold();
  EXPECT_EQ(world.submit_as("alice", "running").status, 202);
  world.settle();
  EXPECT_EQ(world.submit_as("alice", "a").status, 202);
  EXPECT_EQ(world.submit_as("alice", "b").status, 202);
  auto refused = world.submit_as("alice", "c");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.error("class"), "queue_full");
  EXPECT_THAT(refused.error("message"), HasSubstr("2 evaluations waiting"));
  EXPECT_EQ(world.submit_as("bob", "c").status, 202);
  EXPECT_EQ(world.submit_as("the operator", "d").status, 202) << "the operator may fill it";
  EXPECT_EQ(world.submit_as("the operator", "e").status, 429);
}

TEST(Room, ABatchTakesNoMoreThanItsPartsWould) {
  OwnersWorld world;
  world.options.queue = 4;
  world.reopen(owner("alice"));
  world.verifier.hold();
  auto batch = [](std::initializer_list<const char*> ids) {
    json::array all;
    for (const char* id : ids) all.push_back(evaluation(id));
    return json::object{{"evaluations", std::move(all)}};
  };
  world.submit_as("alice", "running");
  world.settle();
  auto refused = world.as("alice", "POST", "/v1/evaluations/batch", batch({"a", "b", "c"}));
  EXPECT_EQ(refused.status, 429);
  EXPECT_THAT(refused.error("message"), HasSubstr("fewer at a time"));
  EXPECT_EQ(world.as("alice", "POST", "/v1/evaluations/batch", batch({"a", "b"})).status, 202);
  EXPECT_EQ(world.submit_as("bob", "c").status, 202);
}

TEST(Room, AnOwnerTakesHalfOfTheConversations) {
  OwnersWorld world;
  world.options.conversations = 2;
  world.reopen(owner("alice"));
  auto opened = [&](const std::string& who) {
    return world.as(who, "POST", "/v1/conversations", {{"task_id", "one"}}).status;
  };
  EXPECT_EQ(opened("alice"), 201);
  EXPECT_EQ(opened("alice"), 429);
  EXPECT_EQ(opened("bob"), 201);
  EXPECT_EQ(opened("the operator"), 429);
}

TEST(Room, OwnersTakeTurns) {
  OwnersWorld world;
  world.verifier.hold();
  world.submit_as("alice", "running");
  world.settle();
  for (const char* id : {"a", "b", "c"}) world.submit_as("alice", id, {{"priority", 100}});
  world.submit_as("bob", "z");
  world.verifier.release();
  world.done_as("alice", "c");
  EXPECT_THAT(world.verifier.begun, ElementsAre("running", "z", "a", "b", "c"));
}

TEST(KeyRing, NewRulesReplaceTheOldOnes) {
  OwnersWorld world;
  OwnerRules carol = owner("carol");
  carol.tasks = {"set/two"};
  world.service->use_owners(std::vector{owner("bob"), carol});
  EXPECT_EQ(world.as("alice", "GET", "/v1/service").status, 401);
  EXPECT_EQ(world.as("bob", "GET", "/v1/service").status, 200);
  EXPECT_EQ(world.as("carol", "GET", "/v1/tasks").at("total"), "1");
  EXPECT_EQ(world.as("the operator", "GET", "/metrics").status, 200);
  world.service->use_owners(fail("keys.toml: cannot be read"));
  EXPECT_EQ(world.as("bob", "GET", "/v1/service").status, 200);
}

TEST(KeyRing, EqualRulesKeepTheirRate) {
  OwnerRules alice = owner("alice");
  alice.requests_per_minute = 1;
  KeyRing keys("", {alice});
  const OwnerRulesPtr before = keys.rules_of("alice");
  EXPECT_EQ(keys.seconds_to_wait(*before, {}), 0);
  keys.replace({alice, owner("bob")});
  EXPECT_EQ(keys.rules_of("alice"), before);
  EXPECT_TRUE(keys.is_spent(alice, {}));
  alice.requests_per_minute = 60;
  keys.replace({alice});
  EXPECT_NE(keys.rules_of("alice"), before);
  EXPECT_EQ(keys.rules_of("bob"), nullptr);
}

}  // namespace
}  // namespace kw::service::test
