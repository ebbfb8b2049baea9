#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "code/similarity/near.h"
#include "code/similarity/sketch.h"
#include "near_world.h"

namespace kw::near {
namespace {

std::size_t shingles_of(std::string_view text, Parameters parameters = {}) {
  return shingle_set(text, parameters).size();
}

TEST(Shingles, AreFiveTokensInARowEachOnce) {
  EXPECT_EQ(shingles_of("a b c d e"), 1);
  EXPECT_EQ(shingles_of("a b c d e f"), 2);
  EXPECT_EQ(shingles_of("a a a a a a a a a"), 1);
}

TEST(Shingles, TakeEveryByteThatIsNoWordForATokenOfItsOwn) {
  EXPECT_EQ(shingles_of("a+=b;"), 1);
  EXPECT_EQ(shingles_of("a+=b;c"), 2);
}

TEST(Shingles, OfWordsPassOverTheRest) {
  EXPECT_EQ(shingle_set("a+b=c(d)[e]", {.words_only = true}), shingle_set("a b c d e", {.words_only = true}));
}

TEST(Shingles, DoNotDependOnWhiteSpace) {
  EXPECT_EQ(shingle_set("x = y\n  + z * 2 ", {}), shingle_set("x=y+z*2", {}));
}

TEST(Shingles, OfFewTokensAreOne) {
  EXPECT_EQ(shingles_of("a b"), 1);
  EXPECT_NE(shingle_set("a b", {}), shingle_set("b a", {}));
  EXPECT_EQ(shingles_of(" \n\t"), 0);
}

TEST(Shingles, AreTheSameWhereverBlocksOfTokensEnd) {
  std::string text = random_code(5000, 3);
  for (unsigned width : {1U, 5U, 1024U}) {
    Shingles shingles(text, {.shingle_tokens = width});
    std::size_t count = 0;
    for (auto block = shingles.next(); !block.empty(); block = shingles.next()) count += block.size();
    std::vector<std::uint64_t> tokens(20000);
    EXPECT_EQ(count, TokenHashes(text, false).next(tokens) - width + 1);
  }
}

TEST(Shingles, OfAPieceAreAmongThoseOfTheWhole) {
  std::string text = random_code(4000, 4);
  auto whole = shingle_set(text, {});
  auto piece = shingle_set(std::string_view(text).substr(text.find(' ', 700)), {});
  EXPECT_TRUE(std::ranges::includes(whole, piece));
}

TEST(Shingles, OfWordsThatDifferOnlyFarBehindDiffer) {
  std::string word(40, 'a');
  EXPECT_NE(shingle_set(word + "b", {}), shingle_set(word + "c", {}));
  EXPECT_NE(shingle_set(word, {}), shingle_set(word + "a", {}));
}

TEST(Jaccard, IsCommonOverAll) {
  std::vector<std::uint64_t> a{1, 2, 3, 4};
  std::vector<std::uint64_t> b{3, 4, 5, 6, 7};
  EXPECT_DOUBLE_EQ(jaccard(a, b), 2.0 / 7);
  EXPECT_EQ(jaccard({}, a), 0);
  EXPECT_EQ(jaccard({}, {}), 1);
}

TEST(Sketch, OfAnEmptyTextIsAllOnes) {
  std::vector<std::uint32_t> out(126);
  Sketcher({}).sketch("", out);
  EXPECT_THAT(out, testing::Each(~0U));
}

TEST(Sketch, IsTheSameEveryTimeAndOnEveryMachine) {
  std::vector<std::uint32_t> out(126);
  Sketcher({}).sketch("def f(x): return x + 1", out);
  EXPECT_EQ(out.front(), 368754741);
  EXPECT_EQ(out.back(), 806368482);
}

TEST(Sketch, IsTheSameForEveryWidthOfVectors) {
  std::mt19937 random(5);
  auto draw = [&](std::size_t count) {
    std::vector<std::uint32_t> values(count);
    for (auto& value : values) value = static_cast<std::uint32_t>(random());
    return values;
  };
  auto factors = draw(128);
  auto addends = draw(128);
  auto numbers = draw(77);
  std::vector<std::uint32_t> expected(128, ~0U);
  for (std::size_t i = 0; i < 128; ++i)
    for (std::uint32_t number : numbers)
      expected[i] = std::min(expected[i], factors[i] * number + addends[i]);
  for (MinimaKernel kernel : kernels_of_this_processor()) {
    std::vector<std::uint32_t> minima(128, ~0U);
    kernel({factors, addends}, numbers, minima);
    EXPECT_EQ(minima, expected);
  }
}

TEST(Sketch, EstimatesTheJaccardIndex) {
  double sum = 0;
  double squares = 0;
  constexpr int pairs = 200;
  for (int i = 0; i < pairs; ++i) {
    std::string a = random_code(400, static_cast<unsigned>(i));
    std::string b = with_changes(a, 8, static_cast<unsigned>(i) + 1000);
    double exact = jaccard(shingle_set(a, {}), shingle_set(b, {}));
    double error = (estimate(a, b) - exact) / std::sqrt(exact * (1 - exact) / 126);
    sum += error;
    squares += error * error;
  }
  // In standard deviations of 126 functions that are drawn independently.
  EXPECT_NEAR(sum / pairs, 0, 0.25);
  EXPECT_NEAR(squares / pairs, 1, 0.35);
}

}  // namespace
}  // namespace kw::near
