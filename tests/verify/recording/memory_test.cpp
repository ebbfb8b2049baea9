#include <gtest/gtest.h>

#include "world.h"

namespace kw::recording {
namespace {

using testing::HasSubstr;

TEST(Memory, MayBeNone) {
  World world;
  world.recording.heap.reset();
  world.recording.arena.reset();
  world.recording.committed.clear();
  EXPECT_EQ(world.refusal(), "");
}

TEST(Memory, HasAHeapAtItsPlace) {
  World world;
  *world.recording.heap = Span(heap + 4096, mib);
  EXPECT_THAT(world.refusal(), HasSubstr("the heap begins at"));
}

TEST(Memory, HasAHeapOfLimitedSize) {
  World world;
  *world.recording.heap = Span(heap, (std::uint64_t{1} << 38) + 1);
  EXPECT_THAT(world.refusal(), HasSubstr("the heap has"));
}

TEST(Memory, HasAnArenaAtItsPlace) {
  World world;
  *world.recording.arena = Span(0x10000, 4096);
  EXPECT_THAT(world.refusal(), HasSubstr("the arena begins at"));
}

TEST(Memory, HasAnArenaOfLimitedSize) {
  World world;
  *world.recording.arena = Span(arena, largest);
  EXPECT_THAT(world.refusal(), HasSubstr("the arena has"));
}

TEST(Memory, IsCommittedWithinTheHeap) {
  World world;
  world.recording.committed = {Span(heap, mib), Span(heap + 63 * mib, 2 * mib)};
  EXPECT_THAT(world.refusal(), HasSubstr("committed memory, span 1"));
}

TEST(Memory, IsCommittedOnce) {
  World world;
  world.recording.committed = {Span(heap + mib, mib), Span(heap, mib + 1)};
  EXPECT_THAT(world.refusal(), HasSubstr("two spans overlap"));
}

TEST(Memory, WhoseEndOverflowsIsRefused) {
  World world;
  world.recording.scratch = {Span(heap + 4096, largest - heap)};
  EXPECT_THAT(world.refusal(), HasSubstr("scratch memory, span 0"));
}

TEST(Memory, BelowTheHeapIsRefused) {
  World world;
  world.recording.scratch = {Span(heap - 4096, 8192)};
  EXPECT_THAT(world.refusal(), HasSubstr("scratch memory, span 0"));
}

TEST(Memory, OfScratchMayBeUsedTwice) {
  World world;
  world.recording.scratch = {Span(heap, 4096), Span(heap, 8192)};
  EXPECT_EQ(world.refusal(), "");
}

TEST(State, LiesInTheHeap) {
  World world;
  world.recording.state_bytes = mib;
  world.add_state(arena, 512, 0);
  EXPECT_EQ(world.refusal(), "block 0 of the state: it reaches beyond the heap");
}

TEST(State, HasItsBytesInItsMemory) {
  World world;
  world.recording.state_bytes = 512;
  world.add_state(heap, 512, 1);
  EXPECT_EQ(world.refusal(), "block 0 of the state: its bytes reach beyond the state's memory");
}

TEST(State, DoesNotBeginBehindTheLastAddress) {
  World world;
  world.recording.state_bytes = 512;
  world.add_state(heap, 512, largest - 100);
  EXPECT_THAT(world.refusal(), HasSubstr("beyond the state's memory"));
}

TEST(State, HasBlocksThatDoNotOverlap) {
  World world;
  world.recording.state_bytes = 1024;
  world.add_state(heap + 256, 512, 0);
  world.add_state(heap, 257, 512);
  EXPECT_EQ(world.refusal(), "two blocks of the state overlap");
}

TEST(State, IsOfLimitedSize) {
  World world;
  world.recording.state_bytes = largest;
  EXPECT_THAT(world.refusal(), HasSubstr("the state has"));
}

}  // namespace
}  // namespace kw::recording
