// Fat binaries: which cubins are found, and that no bytes make the reader read beyond them.
#include "verify/census/fatbin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "library.h"

namespace kw::census {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<Image> found_in(const Image& file, unsigned capability = 90, FatbinCount* count = nullptr) {
  std::vector<Image> found;
  const FatbinCount seen =
      for_each_cubin(file, capability, [&](Bytes cubin) { found.emplace_back(cubin.begin(), cubin.end()); });
  if (count != nullptr) *count = seen;
  return found;
}

TEST(Fatbin, HoldsCubinsOfEachPacking) {
  for (Packing packing : {Packing::none, Packing::lz4, Packing::zstd})
    EXPECT_THAT(found_in(fatbin_of({{.cubin = one, .packing = packing}, {.cubin = two, .packing = packing}})),
                ElementsAre(one, two));
}

TEST(Fatbin, GivesTheCubinsOfTheSameMajorVersionAndNoLaterMinor) {
  const Image file = fatbin_of({{.cubin = one, .architecture = 80},
                                {.cubin = two, .architecture = 86},
                                {.cubin = one, .architecture = 90},
                                {.cubin = two, .architecture = 100}});
  EXPECT_THAT(found_in(file, 80), ElementsAre(one));
  EXPECT_THAT(found_in(file, 89), ElementsAre(one, two));
  EXPECT_THAT(found_in(file, 90), ElementsAre(one));
  EXPECT_THAT(found_in(file, 103), ElementsAre(two));
  EXPECT_THAT(found_in(file, 120), IsEmpty());
}

TEST(Fatbin, LeavesPtxOut) {
  EXPECT_THAT(found_in(fatbin_of({{.cubin = one, .kind = 1}, {.cubin = two}})), ElementsAre(two));
}

TEST(Fatbin, IsFoundAnywhereInAFileAfterAnother) {
  Image file(24, 0xAB);
  for (const Image& cubin : {one, two}) {
    const Image fatbin = fatbin_of({{.cubin = cubin}});
    file.insert(file.end(), fatbin.begin(), fatbin.end());
    file.resize((file.size() + 15) / 8 * 8, 0xCD);
  }
  EXPECT_THAT(found_in(file), ElementsAre(one, two));
}

TEST(Fatbin, OfNothingOrOfOtherBytesHoldsNone) {
  EXPECT_THAT(found_in({}), IsEmpty());
  EXPECT_THAT(found_in(Image(7)), IsEmpty());
  EXPECT_THAT(found_in(Image(4096, 0x50)), IsEmpty());
}

TEST(Fatbin, ThatIsDamagedIsCountedAndTheNextOneIsRead) {
  const Image good = fatbin_of({{.cubin = two}});
  struct Damage {
    std::size_t at;
    std::uint64_t value;
    std::size_t bytes;
  };
  for (const Damage& each :
       {Damage{entry_header_at, 0, 4}, Damage{entry_header_at, 0xFFFFFFFF, 4},
        Damage{entry_bytes_at, ~0ULL, 8}, Damage{packed_bytes_at, 0xFFFFFFFF, 4},
        Damage{packed_bytes_at, 5, 4}, Damage{plain_bytes_at, 0, 8}, Damage{plain_bytes_at, ~0ULL, 8},
        Damage{plain_bytes_at, 8, 8}, Damage{payload_at, 0, 8}}) {
    Image file = fatbin_of({{.cubin = one, .packing = Packing::zstd}});
    std::memcpy(file.data() + each.at, &each.value, each.bytes);
    file.insert(file.end(), good.begin(), good.end());
    FatbinCount count;
    EXPECT_THAT(found_in(file, 90, &count), ElementsAre(two)) << each.at << " " << each.value;
    EXPECT_EQ(count.unreadable, 1U) << each.at << " " << each.value;
  }
}

TEST(Fatbin, ThatEndsEarlyIsNoFatbin) {
  const Image file = fatbin_of({{.cubin = one, .packing = Packing::lz4}});
  for (std::size_t bytes = 0; bytes < file.size(); ++bytes)
    EXPECT_THAT(found_in({file.begin(), file.begin() + static_cast<std::ptrdiff_t>(bytes)}), IsEmpty());
}

TEST(Fatbin, WithAnyByteChangedIsReadWithinItsBytes) {
  const Image file = fatbin_of({{.cubin = one, .packing = Packing::lz4}, {.cubin = two}});
  for (std::size_t at = 0; at < file.size(); ++at) {
    Image changed = file;
    changed[at] ^= 0xFF;
    EXPECT_LE(found_in(changed).size(), 2U) << at;
  }
}

}  // namespace
}  // namespace kw::census
