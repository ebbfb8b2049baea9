#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "near_world.h"

namespace kw::near {
namespace {

bool lower(std::uint32_t a, std::uint32_t b) {
  return a < b;
}

bool higher(std::uint32_t a, std::uint32_t b) {
  return a > b;
}

class ChooseTest : public NearTest {};

TEST_F(ChooseTest, KeepsTheBetterOfTwoWithoutReadingThem) {
  TextAt unreadable = [](std::uint32_t) -> Result<std::string> { return fail("not needed"); };
  auto clusters = choose({{2, 5, 0.9}}, 6, unreadable, {}, higher);
  ASSERT_TRUE(clusters);
  ASSERT_EQ(clusters->size(), 1);
  EXPECT_EQ((*clusters)[0].kept, 5);
  ASSERT_EQ((*clusters)[0].dropped.size(), 1);
  EXPECT_EQ((*clusters)[0].dropped[0].number, 2);
  EXPECT_EQ((*clusters)[0].dropped[0].jaccard, 0.9);
}

// A chain: each resembles the next, the ends do not resemble each other.
std::vector<std::string> chain(unsigned links) {
  std::vector<std::string> texts;
  for (unsigned i = 0; i < links; ++i) {
    std::string text;
    for (unsigned j = i * 8; j < i * 8 + 100; ++j) text += " w" + std::to_string(j);
    texts.push_back(text);
  }
  return texts;
}

TEST_F(ChooseTest, DropsNothingThatDoesNotResembleWhatIsKept) {
  auto texts = chain(40);
  auto pairs = joined(texts).pairs;
  ASSERT_GE(pairs.size(), 30);
  auto clusters = choose(pairs, 40, texts_at(texts), {}, lower);
  ASSERT_TRUE(clusters);
  std::set<std::uint32_t> dropped;
  for (const Cluster& cluster : *clusters)
    for (const auto& member : cluster.dropped) {
      dropped.insert(member.number);
      EXPECT_GE(member.jaccard, 0.8);
      EXPECT_DOUBLE_EQ(member.jaccard,
                       jaccard(shingle_set(texts[cluster.kept], {}), shingle_set(texts[member.number], {})));
    }
  for (const Cluster& cluster : *clusters) EXPECT_FALSE(dropped.contains(cluster.kept));
  EXPECT_GE(dropped.size(), 15);
  EXPECT_LT(dropped.size(), 39);
}

TEST_F(ChooseTest, OfALongChainIsQuick) {
  auto texts = chain(20000);
  std::vector<Pair> pairs;
  for (std::uint32_t i = 0; i + 1 < texts.size(); ++i) pairs.push_back({i, i + 1, 0.85});
  auto clusters = choose(pairs, 20000, texts_at(texts), {}, lower);
  ASSERT_TRUE(clusters);
  EXPECT_GT(clusters->size(), 5000);
}

TEST_F(ChooseTest, PrefersTheBestOfSeveralKept) {
  auto texts = chain(3);  // 0 and 2 do not resemble each other; 1 resembles both
  auto clusters = choose({{0, 1, 0.85}, {1, 2, 0.85}}, 3, texts_at(texts), {}, [](auto a, auto b) {
    return (a == 2 ? 0 : a == 0 ? 1 : 2) < (b == 2 ? 0 : b == 0 ? 1 : 2);
  });
  ASSERT_TRUE(clusters);
  ASSERT_EQ(clusters->size(), 1);
  EXPECT_EQ((*clusters)[0].kept, 2);
}

TEST_F(ChooseTest, OfAPairBeyondTheTextsIsAnError) {
  EXPECT_FALSE(choose({{0, 7, 0.9}}, 7, texts_at({}), {}, lower));
}

}  // namespace
}  // namespace kw::near
