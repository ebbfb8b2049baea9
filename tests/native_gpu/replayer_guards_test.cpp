// Memory outside all allocations: a kernel that writes there is reported.
#include "gaps.h"
#include "replayer_world.h"

namespace kw::replayer {
namespace {

constexpr std::uint64_t block = 0x10000;  // from the heap's start
constexpr std::uint64_t heap_end = 1 << 20;

wire::ReplayT guarding(std::uint64_t key = 1) {
  wire::ReplayT request;
  request.guard = true;
  request.gap_key = key;
  return request;
}

class ReplayGuards : public testing::Test {
 protected:
  ReplayGuards() { allocate(block, 64); }
  void allocate(std::uint64_t from_heap, std::uint64_t bytes) {
    world.world.recording.scratch.emplace_back(heap + from_heap, bytes);
  }
  std::string overrun_of_write(std::uint64_t from_heap) {
    world.launch("set", heap + from_heap, 7);
    world.loaded();
    return world.replayed(guarding()).overrun;
  }

  ReplayWorld world;
};

TEST_F(ReplayGuards, AWriteWithinAnAllocationIsNobodysBusiness) {
  EXPECT_EQ(overrun_of_write(block + 60), "");
}

TEST_F(ReplayGuards, AWriteBehindAnAllocationIsToldWithItsKernel) {
  EXPECT_EQ(
      overrun_of_write(block + 64),
      "0 bytes behind memory that the call allocated (64 bytes at 0x300000010000), in the launch of set");
}

TEST_F(ReplayGuards, AWriteALittleFurtherOnIsToldToo) {
  EXPECT_THAT(overrun_of_write(block + 64 + 100), testing::StartsWith("100 bytes behind "));
}

TEST_F(ReplayGuards, AWriteFarBehindIsTold) {
  EXPECT_THAT(overrun_of_write(block + 0x80000), testing::HasSubstr(" bytes behind "));
}

TEST_F(ReplayGuards, AWriteBeforeAnAllocationIsTold) {
  EXPECT_THAT(overrun_of_write(block - 8), testing::StartsWith("8 bytes before "));
}

TEST_F(ReplayGuards, AWriteToTheLastCommittedBytesIsTold) {
  EXPECT_NE(overrun_of_write(heap_end - 4), "");
}

TEST_F(ReplayGuards, AWriteBehindTheLastOfManyAllocationsIsTold) {
  for (std::uint64_t i = 1; i <= 500; ++i) allocate(block + i * 1024, 512);
  EXPECT_THAT(overrun_of_write(block + 500 * 1024 + 512), testing::StartsWith("0 bytes behind "));
}

TEST_F(ReplayGuards, FiveHundredAllocationsMayBeWritten) {
  for (std::uint64_t i = 1; i <= 500; ++i) {
    allocate(block + i * 1024, 512);
    world.launch("set", heap + block + i * 1024 + 508, 7);
  }
  world.loaded();
  EXPECT_EQ(world.replayed(guarding()).overrun, "");
}

TEST_F(ReplayGuards, TheOutputIsNamedWhereItIsNearest) {
  world.add_output(heap + block);
  EXPECT_THAT(overrun_of_write(block + 64), testing::StartsWith("0 bytes behind output 0 "));
}

TEST_F(ReplayGuards, StateMayBeWritten) {
  world.add_state(heap + 2 * block, 7);
  EXPECT_EQ(overrun_of_write(2 * block), "");
}

TEST_F(ReplayGuards, MemoryOfAGraphMayBeWritten) {
  world.world.recording.reserved.emplace_back(heap + 2 * block, 4096);
  EXPECT_EQ(overrun_of_write(2 * block + 4092), "");
}

TEST_F(ReplayGuards, NobodyLooksWhereItWasNotAskedFor) {
  world.launch("set", heap + block + 64, 7);
  world.loaded();
  EXPECT_EQ(world.replayed().overrun, "");
}

TEST_F(ReplayGuards, MemoryThatWasUsedAgainForMoreIsNoGap) {
  allocate(block, 4096);
  EXPECT_EQ(overrun_of_write(block + 64), "");
}

TEST_F(ReplayGuards, AGapEndsWhereTheNextAllocationBegins) {
  allocate(block + 128, 64);
  EXPECT_EQ(overrun_of_write(block + 130), "");
}

TEST_F(ReplayGuards, AGapDoesNotKeepWhatAReplayWrote) {
  world.launch("set", heap + block + 64, 7);
  world.loaded();
  world.replayed(guarding());
  EXPECT_NE(world.replayed(guarding()).overrun, "")
      << "the bytes of the first replay were taken for the fill";
}

TEST_F(ReplayGuards, TheKeyDecidesTheBytesOfAGap) {
  world.launch("set", heap + block, 7);
  world.add_output(heap + block + 72, 8);
  world.loaded();
  for (std::uint64_t key : {5U, 6U}) {
    world.replayed(guarding(key));
    EXPECT_EQ(world.output(), static_cast<std::uint32_t>(gap_word(heap + block + 72, key)));
  }
}

TEST_F(ReplayGuards, ADriverThatCannotCompileTheKernelMakesNoReplayer) {
  world.driver.refuse["cuModuleLoadData"] = CUDA_ERROR_INVALID_PTX;
  EXPECT_FALSE(Worker::start(world.driver.table(), 0));
}

}  // namespace
}  // namespace kw::replayer
