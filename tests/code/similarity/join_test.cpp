#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <set>

#include "code/similarity/join.h"
#include "near_world.h"

namespace kw::near {
namespace {

using testing::HasSubstr;

// Families of texts that resemble each other, mixed with others.
std::vector<std::string> families(unsigned count) {
  std::vector<std::string> texts;
  for (unsigned i = 0; i < count; ++i) {
    std::string first = random_code(150 + i % 7 * 30, i);
    texts.push_back(first);
    for (unsigned j = 0; j < i % 5; ++j) texts.push_back(with_changes(first, 1 + j * 2, 7 * i + j));
  }
  return texts;
}

std::set<std::pair<std::uint32_t, std::uint32_t>> by_brute_force(const std::vector<std::string>& texts) {
  std::vector<std::vector<std::uint64_t>> sets;
  for (const std::string& text : texts) sets.push_back(shingle_set(text, {}));
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (std::uint32_t b = 0; b < texts.size(); ++b)
    for (std::uint32_t a = 0; a < b; ++a)
      if (jaccard(sets[a], sets[b]) >= 0.8) pairs.emplace(a, b);
  return pairs;
}

std::vector<std::uint32_t> components_of(const std::vector<Pair>& pairs, std::uint32_t count) {
  Components components(count);
  for (const Pair& pair : pairs) components.connect(pair.a, pair.b);
  std::vector<std::uint32_t> of;
  for (std::uint32_t i = 0; i < count; ++i) of.push_back(components.of(i));
  return of;
}

class JoinTest : public NearTest {};

TEST_F(JoinTest, FindsPlantedPairsAndNothingElse) {
  auto texts = families(200);
  auto expected = by_brute_force(texts);
  auto result = joined(texts, {.all_pairs = true});
  for (const Pair& pair : result.pairs) {
    EXPECT_TRUE(expected.contains({pair.a, pair.b})) << pair.a << " " << pair.b;
    EXPECT_DOUBLE_EQ(pair.jaccard, jaccard(shingle_set(texts[pair.a], {}), shingle_set(texts[pair.b], {})));
  }
  ASSERT_GE(expected.size(), 300);
  EXPECT_GE(static_cast<double>(result.pairs.size()), 0.99 * static_cast<double>(expected.size()));
  EXPECT_EQ(result.tally.over, result.pairs.size());
  EXPECT_EQ(result.tally.bounded, 0);
}

TEST_F(JoinTest, GivesTheSameForAnyNumberOfThreads) {
  auto texts = families(300);
  for (bool all : {false, true}) {
    auto one = joined(texts, {.threads = 1, .all_pairs = all});
    auto four = joined(texts, {.threads = 4, .all_pairs = all});
    EXPECT_EQ(said(one.pairs), said(four.pairs));
    EXPECT_EQ(one.tally.verified, four.tally.verified);
  }
}

TEST_F(JoinTest, GivesTheSameWhenMemoryIsShort) {
  auto texts = families(300);
  auto roomy = joined(texts, {.threads = 4});
  auto tight = joined(texts, {.threads = 4, .memory_bytes = 1});
  EXPECT_EQ(said(roomy.pairs), said(tight.pairs));
  EXPECT_EQ(roomy.tally.candidates, tight.tally.candidates);
}

TEST_F(JoinTest, ConnectsWithFewerPairsWhatAllPairsConnect) {
  auto texts = families(300);
  auto count = static_cast<std::uint32_t>(texts.size());
  auto all = joined(texts, {.all_pairs = true});
  auto some = joined(texts);
  EXPECT_LT(some.pairs.size(), all.pairs.size());
  EXPECT_EQ(components_of(some.pairs, count), components_of(all.pairs, count));
}

TEST_F(JoinTest, LooksAtEachPairOnce) {
  std::string text = random_code(200, 1);
  auto result = joined({text, text, text}, {.all_pairs = true});
  EXPECT_EQ(said(result.pairs), "0-1 0-2 1-2");
  EXPECT_EQ(result.tally.candidates, 3);
  EXPECT_EQ(result.tally.verified, 3);
}

TEST_F(JoinTest, InStepsFindsWhatOneGoFinds) {
  auto texts = families(300);
  auto count = static_cast<std::uint32_t>(texts.size());
  for (bool all : {false, true}) {
    auto whole = joined(texts, {.all_pairs = all});
    std::vector<std::string> half(texts.begin(), texts.begin() + count / 2);
    auto pairs = joined(half, {.all_pairs = all}).pairs;
    auto rest = joined(texts, {.all_pairs = all, .first_new = count / 2}).pairs;
    for (const Pair& pair : rest) EXPECT_GE(pair.b, count / 2);
    pairs.insert(pairs.end(), rest.begin(), rest.end());
    EXPECT_EQ(components_of(pairs, count), components_of(whole.pairs, count));
    if (all) EXPECT_EQ(pairs.size(), whole.pairs.size());
  }
}

TEST_F(JoinTest, OfTextsThatAreOddIsSound) {
  std::vector<std::string> texts{"",
                                 " \n",
                                 std::string(1 << 20, 'x'),
                                 std::string(1 << 20, 'x') + "y",
                                 std::string(1000, '\0'),
                                 std::string("a\0b\0c\0d\0e", 9),
                                 "\xff\xfe\x80"};
  EXPECT_EQ(said(joined(texts).pairs), "0-1");
}

TEST_F(JoinTest, OfAHundredThousandTextsThatAllButAgreeIsQuick) {
  std::string text = random_code(90, 9);
  std::vector<std::string> texts;
  for (int i = 0; i < 100000; ++i) texts.push_back(fmt::format("{} only{}", text, i));
  auto sketches = sketched(texts);
  std::clock_t began = std::clock();  // of the processor: other tests run beside this one
  auto result = join(sketches, texts_at(texts), {.threads = 2});
  EXPECT_LT(std::clock() - began, 2 * CLOCKS_PER_SEC);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->pairs.size(), texts.size() - 1);
  EXPECT_EQ(result->tally.bounded, 0);
}

// Each text shares one half with all others, so that many buckets are full of pairs under the threshold.
TEST_F(JoinTest, OfTextsThatShareABucketAndNoMoreIsBoundedAndSaysSo) {
  std::string common = random_code(300, 1);
  std::vector<std::string> texts;
  for (unsigned i = 0; i < 3000; ++i) texts.push_back(common + random_code(120, 2 + i));
  auto result = joined(texts, {.threads = 2});
  EXPECT_GT(result.tally.bounded, 100000);
  EXPECT_LT(result.tally.verified, 600000);
  EXPECT_EQ(result.pairs.size(), 0);
}

TEST_F(JoinTest, CanBeStopped) {
  auto texts = families(50);
  auto sketches = sketched(texts);
  int asked = 0;
  auto result = join(sketches, texts_at(texts), {.stop = [&] { return ++asked > 2; }});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().what, HasSubstr("stopped"));
}

TEST_F(JoinTest, PassesOnThatATextCannotBeRead) {
  auto texts = families(50);
  auto sketches = sketched(texts);
  auto result = join(sketches, [](std::uint32_t) -> Result<std::string> { return fail("no such text"); }, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().what, "no such text");
}

TEST_F(JoinTest, OfNothingIsNothing) {
  EXPECT_EQ(joined({}).pairs.size(), 0);
}

}  // namespace
}  // namespace kw::near
