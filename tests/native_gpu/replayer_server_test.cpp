// The replayers' fork server, on real sockets and without a device.
#include <gmock/gmock.h>

#include <cstdlib>

#include "replayer_fork_world.h"

namespace kw::replayer {
namespace {

int answer_once(int control, int device) {
  const char* word = std::getenv("REPLAYER_TEST");
  wire::ReadyT reply;
  reply.pid = static_cast<std::uint32_t>(device);
  reply.cuda = word == nullptr ? "" : word;
  return receive_packet(control) && send_packet(control, wire::encode(reply)) ? 3 : 1;
}

TEST(ReplayerServer, AnswersReadyWithItsPid) {
  Server server(answer_once);
  auto ready = server.receive();
  ASSERT_NE(ready.AsReady(), nullptr);
  EXPECT_GT(ready.AsReady()->pid, 0U);
}

TEST(ReplayerServer, AChildServesOnItsOwnSocketWithItsDeviceAndEnvironment) {
  Server server(answer_once);
  server.receive();
  Spawned child;
  child.ask_for(server, unconfined_spawn());
  ASSERT_EQ(child.told<kw_spawned>().type, KW_SPAWNED);
  ASSERT_TRUE(send_packet(child.control.ours.get(), wire::encode(wire::ForgetT())).has_value());
  auto body = wire::decode(receive_packet(child.control.ours.get()).value().bytes).value();
  ASSERT_NE(body.AsReady(), nullptr);
  EXPECT_EQ(body.AsReady()->cuda, "here");
  kw_exited exited = child.told<kw_exited>();
  EXPECT_EQ(exited.type, KW_EXITED);
  EXPECT_EQ(WEXITSTATUS(exited.wait_status), 3);
}

TEST(ReplayerServer, AConfinedChildAnswersOrTheSandboxSaysWhyNot) {
  Server server(answer_once);
  server.receive();
  Spawned child;
  wire::SpawnT spawn = unconfined_spawn();
  spawn.unconfined = false;
  spawn.device = -1;
  child.ask_for(server, spawn);
  kw_spawned spawned = child.told<kw_spawned>();
  ASSERT_EQ(spawned.type, KW_SPAWNED);
  if (spawned.error != 0) GTEST_SKIP() << "no sandbox here: " << spawned.step;
  ASSERT_TRUE(send_packet(child.control.ours.get(), wire::encode(wire::ForgetT())).has_value());
  EXPECT_TRUE(receive_packet(child.control.ours.get()).has_value());
}

TEST(ReplayerServer, AForeignMessageIsPassedOver) {
  Server server(answer_once);
  server.receive();
  server.send("no message at all", {});
  server.send(wire::encode(wire::ForgetT()), {});
  Spawned child;
  child.ask_for(server, unconfined_spawn());
  EXPECT_EQ(child.told<kw_spawned>().type, KW_SPAWNED);
}

TEST(ReplayerServer, TheRunnerDiesWhenNobodyListensToItsStatus) {
  Server server([](int, int) { return ::pause(); });
  server.receive();
  Spawned child;
  child.ask_for(server, unconfined_spawn());
  child.told<kw_spawned>();
  child.status.ours.reset();
  EXPECT_FALSE(receive_packet(child.control.ours.get()).has_value());  // closed with it
}

TEST(ReplayerServer, WithoutADriverEveryRequestFailsWithWords) {
  Server server(serve_replays);
  server.receive();
  Spawned child;
  wire::SpawnT spawn = unconfined_spawn();
  spawn.device = -1;
  child.ask_for(server, spawn);
  child.told<kw_spawned>();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(send_packet(child.control.ours.get(), wire::encode(wire::ReplayT())).has_value());
    auto body = wire::decode(receive_packet(child.control.ours.get()).value().bytes).value();
    ASSERT_NE(body.AsFailed(), nullptr);
    EXPECT_EQ(body.AsFailed()->error_class, "infrastructure");
    EXPECT_THAT(body.AsFailed()->error,
                testing::AnyOf(testing::HasSubstr("missing"), testing::HasSubstr("needs a device")));
  }
}

}  // namespace
}  // namespace kw::replayer
