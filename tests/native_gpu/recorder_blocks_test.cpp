#include "blocks.h"

#include <gmock/gmock.h>

#include <random>

namespace kw::recorder {
namespace {

constexpr std::uint64_t base = 0x300000000000;
constexpr std::uint64_t mib = std::uint64_t{1} << 20;
constexpr std::uint64_t left = 7;  // two streams
constexpr std::uint64_t right = 8;
constexpr PoolId pool{0, 5};

Blocks one_mib() {
  Blocks blocks;
  blocks.add(base, mib);
  return blocks;
}

// All remaining memory, as one block of this stream.
std::uint64_t take_rest(Blocks& blocks, std::uint64_t stream) {
  std::uint64_t address = 0;
  for (std::uint64_t bytes = mib; bytes >= 512; bytes /= 2)
    while (std::uint64_t found = blocks.allocate(bytes, stream)) address = found;
  return address;
}

TEST(Blocks, AreAlignedTo512Bytes) {
  Blocks blocks = one_mib();
  blocks.allocate(1, left);
  EXPECT_EQ(blocks.allocate(1, left) % 512, 0);
}

TEST(Blocks, KeepAtLeast512BytesBehindEachThatBelongToNobody) {
  Blocks blocks = one_mib();
  std::uint64_t first = blocks.allocate(512, left);
  std::uint64_t second = blocks.allocate(512, left);
  EXPECT_GE(second, first + 512 + 512);
}

TEST(Blocks, RefuseWhatDoesNotFit) {
  Blocks blocks = one_mib();
  EXPECT_EQ(blocks.allocate(mib, left), 0);
}

TEST(Blocks, RefuseASizeThatWouldOverflow) {
  Blocks blocks = one_mib();
  EXPECT_EQ(blocks.allocate(UINT64_MAX - 3, left), 0);
}

TEST(Blocks, GiveAFreedBlockAtOnceToTheStreamThatFreedIt) {
  Blocks blocks = one_mib();
  std::uint64_t address = blocks.allocate(4096, left);
  blocks.free(address);
  EXPECT_EQ(blocks.allocate(4096, left), address);
}

TEST(Blocks, DoNotGiveAFreedBlockToAnotherStream) {
  Blocks blocks = one_mib();
  std::uint64_t address = blocks.allocate(4096, left);
  blocks.free(address);
  EXPECT_NE(blocks.allocate(4096, right), address);
}

TEST(Blocks, GiveItToAnotherStreamOnceTheHostHasWaited) {
  Blocks blocks = one_mib();
  std::uint64_t address = blocks.allocate(4096, left);
  take_rest(blocks, right);
  blocks.free(address);
  ASSERT_EQ(blocks.allocate(4096, right), 0);
  blocks.synchronised();
  EXPECT_EQ(blocks.allocate(4096, right), address);
}

TEST(Blocks, KeepABlockThatAnotherStreamUsedFromEverybodyUntilTheHostHasWaited) {
  Blocks blocks = one_mib();
  std::uint64_t address = blocks.allocate(4096, left);
  take_rest(blocks, left);
  blocks.used_by(address, right);
  blocks.free(address);
  ASSERT_EQ(blocks.allocate(4096, left), 0);
  blocks.synchronised();
  EXPECT_EQ(blocks.allocate(4096, left), address);
}

TEST(Blocks, TakeNoNoteOfABlocksOwnStream) {
  Blocks blocks = one_mib();
  std::uint64_t address = blocks.allocate(4096, left);
  blocks.used_by(address, left);
  blocks.free(address);
  EXPECT_EQ(blocks.allocate(4096, left), address);
}

TEST(Blocks, ChooseTheSmallestThatFits) {
  Blocks blocks = one_mib();
  std::uint64_t large = blocks.allocate(64 * 1024, left);
  blocks.allocate(512, left);
  std::uint64_t small = blocks.allocate(8 * 1024, left);
  blocks.allocate(512, left);
  blocks.free(large);
  blocks.free(small);
  EXPECT_EQ(blocks.allocate(4096, left), small);
}

TEST(Blocks, BecomeOneWithTheirNeighboursWhenFreed) {
  Blocks blocks = one_mib();
  std::uint64_t a = blocks.allocate(4096, left);
  std::uint64_t b = blocks.allocate(4096, left);
  std::uint64_t c = blocks.allocate(4096, left);
  take_rest(blocks, right);
  blocks.free(a);
  blocks.free(c);
  blocks.free(b);
  EXPECT_EQ(blocks.allocate(3 * 4096 + 1024, left), a);
}

TEST(Blocks, DoNotBecomeOneWithAnotherStreamsNeighbour) {
  Blocks blocks = one_mib();
  std::uint64_t a = blocks.allocate(4096, left);
  std::uint64_t b = blocks.allocate(4096, right);
  take_rest(blocks, left);
  blocks.free(a);
  blocks.free(b);
  EXPECT_EQ(blocks.allocate(6000, left), 0);
}

TEST(Blocks, BecomeOneAcrossStreamsOnceTheHostHasWaited) {
  Blocks blocks = one_mib();
  std::uint64_t a = blocks.allocate(4096, left);
  std::uint64_t b = blocks.allocate(4096, right);
  take_rest(blocks, left);
  blocks.free(a);
  blocks.free(b);
  blocks.synchronised();
  EXPECT_EQ(blocks.allocate(6000, right), a);
}

TEST(Blocks, UseNewMemoryThatFollowsTheOldTogetherWithIt) {
  Blocks blocks = one_mib();
  blocks.add(base + mib, mib);
  EXPECT_EQ(blocks.allocate(mib + 4096, left), base);
}

TEST(Blocks, KnowWhatIsFreeAtTheEnd) {
  Blocks blocks = one_mib();
  blocks.allocate(1024, left);
  EXPECT_EQ(blocks.free_at_end(), mib - 1536);
}

TEST(Blocks, AreFreedOnlyOnce) {
  Blocks blocks = one_mib();
  std::uint64_t address = blocks.allocate(4096, left);
  EXPECT_TRUE(blocks.free(address));
  EXPECT_FALSE(blocks.free(address));
}

TEST(Blocks, AreNotFreedFromTheirMiddle) {
  Blocks blocks = one_mib();
  std::uint64_t address = blocks.allocate(4096, left);
  EXPECT_FALSE(blocks.free(address + 512));
}

TEST(Blocks, AreFoundByAnAddressWithin) {
  Blocks blocks = one_mib();
  blocks.allocate(4096, left);
  std::uint64_t address = blocks.allocate(4096, left);
  Allocation found = blocks.containing(address + 100);
  EXPECT_EQ(found.address, address);
  EXPECT_EQ(found.bytes, 4096);
  EXPECT_EQ(blocks.containing(base + mib - 1).bytes, 0);
}

TEST(Blocks, ListWhatIsAllocatedByAddress) {
  Blocks blocks = one_mib();
  std::uint64_t first = blocks.allocate(100, left);
  std::uint64_t second = blocks.allocate(200, right);
  std::uint64_t third = blocks.allocate(300, left);
  blocks.free(second);
  std::vector<Allocation> all = blocks.allocations();
  ASSERT_EQ(all.size(), 2);
  EXPECT_EQ(all[0].address, first);
  EXPECT_EQ(all[1].address, third);
  EXPECT_EQ(all[1].bytes, 300);
}

TEST(Blocks, CountBytesAsTheyWereAskedFor) {
  Blocks blocks = one_mib();
  std::uint64_t first = blocks.allocate(1000, left);
  blocks.allocate(500, left);
  blocks.free(first);
  EXPECT_EQ(blocks.allocated_bytes(), 500);
  EXPECT_EQ(blocks.peak_bytes(), 1500);
  EXPECT_EQ(blocks.count(), 2);
  blocks.reset_peak();
  EXPECT_EQ(blocks.peak_bytes(), 500);
}

TEST(Pools, GetBackWhatWasFreedInThem) {
  Blocks blocks = one_mib();
  blocks.begin_pool(pool);
  std::uint64_t address = blocks.allocate(4096, left, pool);
  blocks.free(address);
  EXPECT_NE(blocks.allocate(4096, left), address);
  EXPECT_EQ(blocks.allocate(4096, left, pool), address);
}

TEST(Pools, DoNotTakeWhatAStreamMayStillUse) {
  Blocks blocks = one_mib();
  std::uint64_t address = blocks.allocate(4096, left);
  take_rest(blocks, right);
  blocks.free(address);
  blocks.begin_pool(pool);
  EXPECT_EQ(blocks.allocate(4096, left, pool), 0);
}

TEST(Pools, KeepTheirMemoryWhenTheHostWaits) {
  Blocks blocks = one_mib();
  blocks.begin_pool(pool);
  std::uint64_t address = blocks.allocate(4096, left, pool);
  take_rest(blocks, left);
  blocks.free(address);
  blocks.synchronised();
  EXPECT_EQ(blocks.allocate(4096, left), 0);
}

TEST(Pools, LetTheirMemoryGoAfterTheLastReleaseAndAWait) {
  Blocks blocks = one_mib();
  blocks.begin_pool(pool);
  blocks.begin_pool(pool);
  std::uint64_t address = blocks.allocate(4096, left, pool);
  take_rest(blocks, left);
  blocks.free(address);
  blocks.release_pool(pool);
  blocks.synchronised();
  ASSERT_EQ(blocks.allocate(4096, left), 0) << "one more release is due";
  blocks.release_pool(pool);
  ASSERT_EQ(blocks.allocate(4096, left), 0) << "a graph may still run";
  blocks.synchronised();
  EXPECT_EQ(blocks.allocate(4096, left), address);
}

TEST(Pools, LetABlockGoThatIsFreedAfterTheRelease) {
  Blocks blocks = one_mib();
  blocks.begin_pool(pool);
  std::uint64_t address = blocks.allocate(4096, left, pool);
  take_rest(blocks, left);
  blocks.release_pool(pool);
  blocks.free(address);
  ASSERT_EQ(blocks.allocate(4096, left), 0);
  blocks.synchronised();
  EXPECT_EQ(blocks.allocate(4096, left), address);
}

// Random work on three streams: no two live blocks overlap, and at the end all memory is one piece again.
TEST(Blocks, NeverOverlapAndLoseNothing) {
  Blocks blocks = one_mib();
  std::mt19937_64 random(11);
  std::map<std::uint64_t, std::uint64_t> live;
  for (int step = 0; step < 20'000; ++step) {
    if (live.empty() || random() % 2 == 0) {
      std::uint64_t bytes = 1 + random() % 20'000;
      std::uint64_t address = blocks.allocate(bytes, random() % 3);
      if (address == 0) continue;
      auto after = live.lower_bound(address);
      ASSERT_TRUE(after == live.end() || after->first >= address + bytes + 512);
      ASSERT_TRUE(after == live.begin() ||
                  std::prev(after)->first + std::prev(after)->second + 512 <= address);
      live.emplace(address, bytes);
    } else {
      auto chosen = std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
      if (random() % 4 == 0) blocks.used_by(chosen->first, random() % 3);
      ASSERT_TRUE(blocks.free(chosen->first));
      live.erase(chosen);
    }
    if (random() % 100 == 0) blocks.synchronised();
  }
  for (const auto& [address, bytes] : live) blocks.free(address);
  blocks.synchronised();
  EXPECT_EQ(blocks.free_at_end(), mib);
  EXPECT_EQ(blocks.allocated_bytes(), 0);
}

}  // namespace
}  // namespace kw::recorder
