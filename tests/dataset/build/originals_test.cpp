#include "dataset/build/originals.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kw::dataset {
namespace {

UnitCard card(const std::string& source, std::uint32_t number, const std::string& path) {
  UnitCard made;
  made.source_name = source;
  made.source = number;
  made.path = path;
  made.spdx = "MIT";
  made.key = "one text";
  made.text_bytes = 500;
  made.id = path;
  return made;
}

TEST(FolderRole, IsReadFromWholeWordsOfFolders) {
  EXPECT_EQ(role_of_folders("gems/runtime/backend/_kunlunxin/ops/abs.py"), FolderRole::other_chip);
  EXPECT_EQ(role_of_folders("triton_ascend/abs.py"), FolderRole::other_chip);
  EXPECT_EQ(role_of_folders("gems/third_party/abs.py"), FolderRole::third_party);
  EXPECT_EQ(role_of_folders("tests/abs.py"), FolderRole::trial);
  EXPECT_EQ(role_of_folders("gems/backend/_nvidia/ops/ascending/abs.py"), FolderRole::own);
  EXPECT_EQ(role_of_folders("ascend.py"), FolderRole::own);
}

TEST(Originals, AShortOriginalIsBetterThanTheCopyOfAnotherChip) {
  auto original = card("gems", 0, "gems/ops/abs.py");
  auto copy = card("gems", 0, "gems/backend/_ascend/ops/abs.py");
  copy.text_bytes = 900;
  copy.stars = 10;
  copy.labels.compile = corpus::CompileLabel::compilable;
  std::vector<UnitCard> cards{copy, original};
  find_originals(cards);
  EXPECT_TRUE(better(cards[1], cards[0]));
  EXPECT_FALSE(better(cards[0], cards[1]));
}

TEST(Originals, AFolderNamedAfterAnotherPackageHoldsItsCopies) {
  std::vector<UnitCard> cards{card("gems", 0, "gems/ops/fla/delta.py"), card("gems", 0, "gems/ops/abs.py"),
                              card("gems", 0, "gems/ops/exp.py"), card("fla-core", 1, "fla/ops/delta.py")};
  find_originals(cards);
  EXPECT_EQ(cards[0].folders, FolderRole::third_party);
  EXPECT_TRUE(better(cards[3], cards[0]));
}

TEST(Originals, TheSourceThatMostOthersShareIsPreferred) {
  std::vector<UnitCard> cards{card("a", 0, "a/x.py"), card("z", 1, "z/x.py"), card("b", 2, "b/y.py"),
                              card("z", 1, "z/y.py")};
  cards[2].key = cards[3].key = "another text";
  find_originals(cards);
  EXPECT_EQ(cards[1].sources_with_its_code, 2U);
  EXPECT_TRUE(better(cards[1], cards[0]));
}

TEST(Originals, OnePermissiveLicenceIsBetterThanSeveralAndThanOthers) {
  auto of = [](const char* spdx) {
    auto made = card("a", 0, "a/x.py");
    made.spdx = spdx;
    return made;
  };
  std::vector<UnitCard> cards{of("MIT"), of("MIT AND Apache-2.0"), of("GPL-3.0-only"), of("")};
  find_originals(cards);
  for (std::size_t i = 0; i + 1 < cards.size(); ++i) EXPECT_TRUE(better(cards[i], cards[i + 1])) << i;
}

TEST(Originals, TheOrderIsTotal) {
  std::vector<UnitCard> cards{card("a", 0, "a/x.py"), card("a", 0, "a/y.py"), card("b", 1, "b/x.py"),
                              card("a", 0, "a/deep/x.py")};
  find_originals(cards);
  for (const UnitCard& a : cards)
    for (const UnitCard& b : cards) EXPECT_EQ(better(a, b) || better(b, a), &a != &b);
}

}  // namespace
}  // namespace kw::dataset
