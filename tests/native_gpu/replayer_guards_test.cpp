// Guard bytes behind allocations: a kernel that writes there is reported.
#include "before.h"
#include "replayer_world.h"

namespace kw::replayer {
namespace {

constexpr std::uint64_t block = 0x10000;  // from the heap's start

wire::ReplayT guarding() {
  wire::ReplayT request;
  request.guard = true;
  return request;
}

class ReplayGuards : public testing::Test {
 protected:
  ReplayGuards() { allocate(block, 64); }
  void allocate(std::uint64_t from_heap, std::uint64_t bytes) {
    world.world.recording.scratch.emplace_back(heap + from_heap, bytes);
  }

  ReplayWorld world;
};

TEST_F(ReplayGuards, AWriteWithinAnAllocationIsNobodysBusiness) {
  world.launch("set", heap + block + 60, 7);
  world.loaded();
  EXPECT_EQ(world.replayed(guarding()).overrun, "");
}

TEST_F(ReplayGuards, AWriteBehindAnAllocationIsTold) {
  world.launch("set", heap + block + 64, 7);
  world.loaded();
  EXPECT_THAT(world.replayed(guarding()).overrun, testing::HasSubstr("0 bytes beyond it"));
}

TEST_F(ReplayGuards, AWriteALittleFurtherOnIsToldToo) {
  world.launch("set", heap + block + 64 + 100, 7);
  world.loaded();
  EXPECT_THAT(world.replayed(guarding()).overrun, testing::HasSubstr("100 bytes beyond it"));
}

TEST_F(ReplayGuards, NobodyLooksWhereItWasNotAskedFor) {
  world.launch("set", heap + block + 64, 7);
  world.loaded();
  EXPECT_EQ(world.replayed().overrun, "");
}

TEST_F(ReplayGuards, MemoryThatWasUsedAgainForMoreIsNoZone) {
  allocate(block, 4096);
  world.launch("set", heap + block + 64, 7);
  world.loaded();
  EXPECT_EQ(world.replayed(guarding()).overrun, "");
}

TEST_F(ReplayGuards, AZoneEndsWhereTheNextAllocationBegins) {
  allocate(block + 128, 64);
  world.launch("set", heap + block + 130, 7);
  world.loaded();
  EXPECT_EQ(world.replayed(guarding()).overrun, "");
}

}  // namespace
}  // namespace kw::replayer
