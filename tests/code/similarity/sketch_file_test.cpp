#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "near_world.h"

namespace kw::near {
namespace {

using testing::HasSubstr;

class SketchFileTest : public NearTest {
 protected:
  std::filesystem::path path_ = folder_ / "sketches";
  Parameters small_{.bands = 3, .rows = 2};

  SketchFile opened() {
    auto file = SketchFile::open(path_, small_);
    EXPECT_TRUE(file) << file.error().what;
    return *file;
  }
  // Text i has the values 10 * i to 10 * i + 5.
  static void add(SketchFile& file, std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t i = from * 10; i < to * 10; i += 10)
      ASSERT_TRUE(file.append(std::vector{i, i + 1, i + 2, i + 3, i + 4, i + 5}));
  }
};

TEST_F(SketchFileTest, GivesABandOfAllTexts) {
  auto file = opened();
  add(file, 0, 3);
  EXPECT_EQ(file.band(1), (std::vector<std::uint32_t>{2, 3, 12, 13, 22, 23}));
  ASSERT_TRUE(file.flush());
  add(file, 3, 4);
  EXPECT_EQ(file.count(), 4);
  EXPECT_EQ(file.band(2), (std::vector<std::uint32_t>{4, 5, 14, 15, 24, 25, 34, 35}));
  EXPECT_FALSE(file.band(3));
}

TEST_F(SketchFileTest, KeepsWhatIsInItOverManyBlocks) {
  {
    auto file = opened();
    add(file, 0, 10000);
  }
  auto file = opened();
  EXPECT_EQ(file.count(), 10000);
  auto band = file.band(0);
  ASSERT_TRUE(band);
  for (std::uint32_t i = 0; i < 10000; ++i) ASSERT_EQ((*band)[2 * i + 1], 10 * i + 1);
}

TEST_F(SketchFileTest, TakesManySketchesAtOnce) {
  auto file = opened();
  ASSERT_TRUE(file.append(std::vector<std::uint32_t>(6 * 5000)));
  EXPECT_EQ(file.count(), 5000);
  EXPECT_FALSE(file.append(std::vector<std::uint32_t>(7)));
}

TEST_F(SketchFileTest, CutShortKeepsItsWholeBlocks) {
  for (int i = 0; i < 2; ++i) {
    auto file = opened();
    add(file, file.count(), file.count() + 10);
  }
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 1);
  {
    auto file = opened();
    EXPECT_EQ(file.count(), 10);
    add(file, 10, 12);
  }
  EXPECT_EQ(opened().count(), 12);
}

TEST_F(SketchFileTest, WhoseLastBytesNeverCameKeepsTheRest) {
  for (int i = 0; i < 2; ++i) {
    auto file = opened();
    add(file, file.count(), file.count() + 10);
  }
  std::fstream stream(path_, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(-8, std::ios::end);
  stream.write("\0\0\0\0\0\0\0\0", 8);
  stream.close();
  EXPECT_EQ(opened().count(), 10);
}

TEST_F(SketchFileTest, CutShortAnywhereOpens) {
  {
    auto file = opened();
    add(file, 0, 3);
  }
  for (auto size = std::filesystem::file_size(path_); size-- > 0;) {
    std::filesystem::resize_file(path_, size);
    EXPECT_EQ(opened().count(), 0) << size;
  }
}

TEST_F(SketchFileTest, OfOtherParametersIsAnError) {
  {
    auto file = opened();
    add(file, 0, 1);
  }
  small_.seed = 2;
  auto file = SketchFile::open(path_, small_);
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().what, HasSubstr("other parameters"));
}

TEST_F(SketchFileTest, ThatIsSomethingElseIsAnErrorAndStays) {
  std::ofstream(path_) << std::string(100, 'x');
  EXPECT_FALSE(SketchFile::open(path_, small_));
  EXPECT_EQ(std::filesystem::file_size(path_), 100);
  EXPECT_FALSE(SketchFile::open(folder_, small_));
  EXPECT_FALSE(SketchFile::open("/dev/null", small_));
}

TEST_F(SketchFileTest, RefusesParametersWithoutMeaning) {
  EXPECT_FALSE(SketchFile::open(path_, {.bands = 0}));
  EXPECT_FALSE(SketchFile::open(path_, {.bands = 65536, .rows = 65536}));
  EXPECT_FALSE(SketchFile::open(path_, {.shingle_tokens = 0}));
  EXPECT_FALSE(SketchFile::open(path_, {.threshold = 0}));
}

}  // namespace
}  // namespace kw::near
