#include <sys/mman.h>

#include <cstring>
#include <functional>

#include "base/core/files.h"
#include "heap.h"
#include "recorder_world.h"

// Declared with PyTorch's types, as PyTorch calls them.
extern "C" {
void kwrec_record_stream(void*, CUstream);
void kwrec_begin_pool(int, std::pair<unsigned long long, unsigned long long>, std::function<bool(CUstream)>);
void kwrec_end_pool(int, std::pair<unsigned long long, unsigned long long>);
void* kwrec_base_alloc(void*, std::size_t*);
}

namespace kw::recorder {
namespace {

using testing::Contains;
using testing::HasSubstr;

void* at(std::uint64_t address) {
  return reinterpret_cast<void*>(address);
}

TEST(TheState, IsWhatWasAllocatedWhenTheCallBegan) {
  World world;
  std::uint64_t block = world.allocate(1000);
  std::memset(at(block), 0x5a, 1000);
  world.begin();
  std::memset(at(block), 0, 1000);
  world.allocate(2000);
  auto recording = world.ended();
  const recording::BlockT* saved = nullptr;
  for (const auto& one : recording.state)
    if (one->address == block) saved = one.get();
  ASSERT_NE(saved, nullptr);
  EXPECT_EQ(saved->bytes, 1000);

  std::uint64_t bytes = 0;
  Fd memory(kwrec_export_state(&bytes));
  ASSERT_TRUE(memory) << kwrec_error();
  EXPECT_EQ(bytes, recording.state_bytes);
  void* mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, memory.get(), 0);
  EXPECT_EQ(static_cast<const char*>(mapped)[saved->at + 999], 0x5a);
  ::munmap(mapped, bytes);
}

TEST(TheState, IsGoneOnceItWasDropped) {
  World world;
  world.allocate(1000);
  world.begin();
  kwrec_drop();
  std::uint64_t bytes = 1;
  EXPECT_EQ(kwrec_export_state(&bytes), -1);
  EXPECT_EQ(bytes, 0);
}

TEST(Scratch, IsWhatWasAllocatedWithinTheCall) {
  World world;
  world.allocate(1000);
  world.begin();
  std::uint64_t block = world.allocate(3000);
  auto recording = world.ended();
  ASSERT_EQ(recording.scratch.size(), 1);
  EXPECT_EQ(recording.scratch[0].address(), block);
  EXPECT_EQ(recording.scratch[0].bytes(), 3000);
}

TEST(NewMemory, IsNeverZero) {
  World world;
  std::uint64_t block = world.allocate(64 << 20);  // more than is left of the memory of other tests
  const auto* words = static_cast<const std::uint32_t*>(at(block));
  EXPECT_THAT(std::vector(words, words + 1024), testing::Each(testing::Ne(0U)));
}

TEST(NewMemory, IsNotFilledAgainWhenItIsHandedOutAgain) {
  World world;
  std::uint64_t block = world.allocate(4096);
  std::memset(at(block), 0, 4096);
  kwrec_free(at(block), 4096, 0, nullptr);
  std::uint64_t again = world.allocate(4096);
  ASSERT_EQ(again, block);
  EXPECT_EQ(*static_cast<const std::uint32_t*>(at(again)), 0U) << "work of its stream may still use it";
}

TEST(MemoryOfAGraph, IsReservedAfterItWasFreed) {
  constexpr std::pair<unsigned long long, unsigned long long> pool{0, 7};
  World world;
  world.allocate(1000);
  kwrec_begin_pool(0, pool, [](CUstream) { return true; });
  std::uint64_t block = world.allocate(3000);
  kwrec_end_pool(0, pool);
  kwrec_free(at(block), 3000, 0, nullptr);
  world.begin();
  auto recording = world.ended();
  ASSERT_EQ(recording.reserved.size(), 1);
  EXPECT_EQ(recording.reserved[0].address(), block);
  EXPECT_GE(recording.reserved[0].bytes(), 3000U);
}

TEST(TheRecording, NamesMachineMemoryAndVersions) {
  World world;
  world.allocate(1000);
  world.begin();
  auto recording = world.ended();
  EXPECT_EQ(recording.gpu, "a fake GPU");
  EXPECT_EQ(recording.compute_capability, 90);
  EXPECT_EQ(recording.driver_version, 13000);
  EXPECT_EQ(recording.torch, "2.11.0");
  EXPECT_EQ(recording.triton, "3.6.0");
  EXPECT_EQ(recording.arena->address(), arena_address);
  ASSERT_EQ(recording.committed.size(), 1);
  EXPECT_EQ(recording.committed[0].address(), driver::heap_address);
  EXPECT_EQ(recording.committed[0].bytes(), heap().committed_bytes());
}

TEST(TheRecording, WatchesEveryCallOnlyWhileItRuns) {
  World world;
  world.begin();
  EXPECT_THAT(world.calls, Contains("everything"));
  world.ended();
  EXPECT_EQ(world.calls.back(), "the usual");
}

TEST(TheRecording, RefusesToBeginTwice) {
  World world;
  world.begin();
  kwrec_call call{arena_address, arena_bytes, nullptr, "", ""};
  EXPECT_EQ(kwrec_begin(&call), -1);
  EXPECT_THAT(kwrec_error(), HasSubstr("runs already"));
}

TEST(TheRecording, IsWrittenOnce) {
  World world;
  world.begin();
  world.ended();
  EXPECT_EQ(kwrec_write(), -1);
  EXPECT_THAT(kwrec_error(), HasSubstr("nothing was recorded"));
}

TEST(TheHeap, LiesAtItsFixedAddress) {
  World world;
  std::uint64_t block = world.allocate(100);
  EXPECT_GE(block, driver::heap_address);
  EXPECT_LT(block, driver::heap_address + driver::heap_bytes);
}

TEST(TheHeap, WaitsForTheDeviceBeforeItSaysThatMemoryHasRunOut) {
  World world;
  world.allocate(100);
  world.out_of_memory = true;
  EXPECT_EQ(world.allocate(std::uint64_t{1} << 35), 0);
  EXPECT_THAT(world.calls, Contains("cuCtxSynchronize"));
  EXPECT_THAT(kwrec_error(), HasSubstr("out of memory: 34359738368 bytes"));
}

TEST(TheHeap, GivesWhatAnotherStreamFreedRatherThanFail) {
  World world;
  std::uint64_t block = world.allocate(40U << 20U, World::stream(0x710));
  kwrec_free(at(block), 0, 0, nullptr);
  world.out_of_memory = true;
  EXPECT_NE(world.allocate(40U << 20U, World::stream(0x720)), 0);
}

TEST(TheHeap, KeepsAPoolsMemoryApartForTheStreamsThatItsFilterNames) {
  World world;
  std::uint64_t block = world.allocate(70'000, World::stream(0x730));
  kwrec_free(at(block), 0, 0, nullptr);
  kwrec_begin_pool(0, {0, 9}, [](CUstream stream) { return stream == World::stream(0x730); });
  EXPECT_NE(world.allocate(70'000, World::stream(0x730)), block);
  kwrec_end_pool(0, {0, 9});
  EXPECT_EQ(world.allocate(70'000, World::stream(0x730)), block);
}

TEST(TheHeap, KeepsABlockThatAnotherStreamUses) {
  World world;
  std::uint64_t block = world.allocate(80'000, World::stream(0x730));
  kwrec_record_stream(at(block), World::stream(0x740));
  kwrec_free(at(block), 0, 0, nullptr);
  EXPECT_NE(world.allocate(80'000, World::stream(0x730)), block);
}

TEST(TheHeap, FindsTheBlockOfAnAddress) {
  World world;
  std::uint64_t block = world.allocate(1000);
  std::size_t bytes = 0;
  EXPECT_EQ(kwrec_base_alloc(at(block + 10), &bytes), at(block));
  EXPECT_EQ(bytes, 1000);
}

TEST(TheHeap, GivesNothingForNothing) {
  World world;
  EXPECT_EQ(kwrec_malloc(0, 0, nullptr), nullptr);
  EXPECT_EQ(kwrec_malloc(-1, 0, nullptr), nullptr);
}

TEST(TheHeap, TellsHowMuchIsInUse) {
  World world;
  kwrec_memory before{};
  kwrec_memory after{};
  kwrec_memory_use(&before);
  std::uint64_t block = world.allocate(5000);
  kwrec_memory_use(&after);
  EXPECT_EQ(after.allocated_bytes, before.allocated_bytes + 5000);
  EXPECT_EQ(after.allocations, before.allocations + 1);
  EXPECT_GE(after.reserved_bytes, after.allocated_bytes);
  kwrec_free(at(block), 5000, 0, nullptr);
}

}  // namespace
}  // namespace kw::recorder
