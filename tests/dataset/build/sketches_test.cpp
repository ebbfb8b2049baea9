#include "dataset/build/sketches.h"

#include <gtest/gtest.h>

#include "base/core/crypto.h"
#include "world.h"

namespace kw::dataset {
namespace {

// The number of pairs that a join finds in these texts.
std::size_t pairs(const World& world, const near::Parameters& parameters,
                  const std::vector<std::string>& texts) {
  auto sketches = KeptSketches::open(world.folder(), parameters);
  EXPECT_TRUE(sketches);
  Sketching sketching(*sketches, 1, [](std::uint32_t, bool) {});
  for (const std::string& text : texts)
    sketching.push([text]() -> Result<Sketching::Prepared> {
      return Sketching::Prepared{digest_of_hex(sha1_hex(text)), text};
    });
  EXPECT_TRUE(sketching.finish());
  auto joined =
      near::join(sketches->file(), [&](std::uint32_t i) -> Result<std::string> { return texts[i]; }, {});
  EXPECT_TRUE(joined);
  return joined->pairs.size();
}

std::vector<std::string> shuffled_words() {
  std::string one;
  std::string other;
  for (int i = 0; i < 60; ++i) {
    one += "word" + std::to_string(i) + " ";
    other += "word" + std::to_string(59 - i) + " ";
  }
  return {one, other};
}

TEST(KeptSketches, OneThreadSketchesTwiceWithOtherParameters) {
  World world;
  near::Parameters words;
  words.words_only = true;
  words.shingle_tokens = 1;
  EXPECT_EQ(pairs(world, {}, shuffled_words()), 0U);
  EXPECT_EQ(pairs(world, words, shuffled_words()), 1U);
}

TEST(KeptSketches, KnowWhatWasSketchedBefore) {
  World world;
  pairs(world, {}, shuffled_words());
  auto sketches = KeptSketches::open(world.folder(), {});
  ASSERT_TRUE(sketches);
  EXPECT_EQ(sketches->count(), 2U);
  EXPECT_TRUE(sketches->has(digest_of_hex(sha1_hex(shuffled_words()[1]))));
}

TEST(KeptSketches, BeginAnewWhereTheirFilesAreUnlike) {
  World world;
  pairs(world, {}, shuffled_words());
  for (const auto& entry : std::filesystem::recursive_directory_iterator(world.folder()))
    if (entry.path().filename() == "keys") std::filesystem::resize_file(entry.path(), 20);
  auto sketches = KeptSketches::open(world.folder(), {});
  ASSERT_TRUE(sketches);
  EXPECT_EQ(sketches->count(), 0U);
}

TEST(KeptSketches, GiveThoseAskedForInTheirOrder) {
  World world;
  auto texts = shuffled_words();
  texts.push_back(code(3));
  pairs(world, {}, texts);
  auto sketches = KeptSketches::open(world.folder(), {});
  ASSERT_TRUE(sketches);
  auto some = sketches->select({digest_of_hex(sha1_hex(texts[2])), digest_of_hex(sha1_hex(texts[0]))});
  ASSERT_TRUE(some);
  ASSERT_EQ(some->count(), 2U);
  near::Sketch expected(126);
  near::Sketcher({}).sketch(texts[2], expected);
  auto band = some->band(0);
  ASSERT_TRUE(band);
  EXPECT_TRUE(std::equal(band->begin(), band->begin() + 6, expected.begin()));
}

}  // namespace
}  // namespace kw::dataset
