#include "score/checks/overlap.h"

#include <gmock/gmock.h>

#include <cmath>
#include <string>

namespace kw::score {
namespace {

TEST(Bleu, OfOneWordInFiveIsTheHandComputedOne) {
  // (4/5 · 4/5 · 3/4 · 2/3)^¼ with one added above and below from pairs of words on
  Overlap result = overlap("a b c d f", "a b c d e");
  EXPECT_NEAR(*result.bleu, std::pow(0.32, 0.25), 1e-12);
}

TEST(Bleu, OfAHalfIsPunishedForItsBrevity) {
  EXPECT_NEAR(*overlap("a b c d e f", "a b c").bleu, std::exp(-1.0), 1e-12);
}

TEST(Bleu, DoesNotPayForAWordMoreOftenThanItIsWanted) {
  NgramCounts counts = overlap("a b", "a a a a").counts;
  EXPECT_EQ(counts.matched[0], 1U);
  EXPECT_EQ(counts.total[0], 4U);
}

TEST(Bleu, OfNothingInCommonIsZero) {
  EXPECT_EQ(overlap("a b c", "x y z").bleu, 0);
  EXPECT_EQ(overlap("a b c", "").bleu, 0);
}

TEST(Bleu, IsUndefinedWithoutAReference) {
  EXPECT_FALSE(overlap("", "a b").bleu);
  EXPECT_FALSE(overlap("# only a comment", "a b").bleu);
}

TEST(Bleu, OfEqualTextsIsOneHoweverShort) {
  EXPECT_EQ(*overlap("a", "a").bleu, 1);
  EXPECT_NEAR(*overlap("x = f(y)", "x = f(y)").bleu, 1, 1e-12);
}

TEST(Bleu, LiesBetweenZeroAndOne) {
  const std::string words[] = {"a", "a b", "b a", "a b a b", "c", "a = b + c", "b + c = a"};
  for (const auto& reference : words)
    for (const auto& answer : words) {
      EXPECT_GE(*overlap(reference, answer).bleu, 0);
      EXPECT_LE(*overlap(reference, answer).bleu, 1 + 1e-12);
    }
}

const std::string code = "def f(x):\n    # twice\n    y = x + x\n    return y\n";

TEST(Exact, ForgivesWhiteSpaceAtTheEnds) {
  EXPECT_TRUE(overlap(code, "\n" + code + "\n\n").exact);
}

TEST(Exact, OfTokensForgivesCommentsAndLayout) {
  Overlap result = overlap(code, "def f( x ):\n  y = x+x\n  return y");
  EXPECT_FALSE(result.exact);
  EXPECT_TRUE(result.exact_tokens);
  EXPECT_EQ(*result.bleu, 1);
}

TEST(Exact, OfTokensForgivesNoOtherNames) {
  Overlap result = overlap(code, "def f(a):\n    b = a + a\n    return b\n");
  EXPECT_FALSE(result.exact_tokens);
  EXPECT_TRUE(result.exact_renamed);
}

TEST(Exact, OfRenamedForgivesNoOtherUseOfNames) {
  EXPECT_FALSE(overlap(code, "def f(a):\n    b = a + b\n    return b\n").exact_renamed);
}

TEST(Exact, DoesNotForgiveAnotherIndentation) {
  std::string inside = "for i in range(3):\n    a()\n    b()\n";
  std::string behind = "for i in range(3):\n    a()\nb()\n";
  EXPECT_FALSE(overlap(inside, behind).exact_tokens);
  EXPECT_FALSE(overlap(inside, behind).exact_renamed);
}

TEST(Exact, ForgivesBrokenLinesWithinBrackets) {
  EXPECT_TRUE(overlap("x = f(a, b)\ny = 1\n", "x = f(\n    a,\n    b,\n)\ny = 1\n").exact_tokens);
}

TEST(Exact, ImpliesTheWeakerOnes) {
  Overlap result = overlap(code, code);
  EXPECT_TRUE(result.exact && result.exact_tokens && result.exact_renamed);
}

TEST(CorpusBleu, IsOfTheCountsAddedUp) {
  // matched 6, 4, 2, 1 of 7, 5, 3, 2, one added from pairs of words on
  EXPECT_NEAR(*corpus_bleu({overlap("a b c d f", "a b c d e"), overlap("a b", "a b"), overlap("", "x")}),
              std::pow(6.0 / 7 * 5 / 6 * 3 / 4 * 2 / 3, 0.25), 1e-12);
  EXPECT_FALSE(corpus_bleu({}));
}

TEST(Bleu, OfAnAnswerThatCannotBeTakenApartIsZero) {
  std::string endless(std::size_t{5} << 20, 'x');
  EXPECT_EQ(overlap("a b", endless).bleu, 0);
  EXPECT_EQ(overlap("a b", std::string(std::size_t{2} << 20, ' ') + "a b").bleu, 0);
  EXPECT_EQ(overlap("a b", endless).counts.reference_tokens, 2U);
}

TEST(Bleu, SaysWhyThereIsNone) {
  std::string endless(std::size_t{5} << 20, 'x');
  EXPECT_EQ(overlap(endless, "a").why_no_bleu, "reference_too_long");
  EXPECT_EQ(overlap("# a comment", "a").why_no_bleu, "reference_without_tokens");
  EXPECT_EQ(overlap("a", "a").why_no_bleu, "");
  EXPECT_TRUE(overlap(endless, endless).exact_renamed);
}

}  // namespace
}  // namespace kw::score
