#include <gtest/gtest.h>

#include "types/enums.h"

namespace kw {
namespace {

TEST(Enums, EveryErrorClassComesBackFromItsName) {
  EXPECT_EQ(enum_words<ErrorClass>.size(), static_cast<std::size_t>(ErrorClass::infrastructure) + 1);
  for (int i = 0; i <= static_cast<int>(ErrorClass::infrastructure); ++i) {
    auto value = static_cast<ErrorClass>(i);
    EXPECT_EQ(from_string<ErrorClass>(to_string(value)), value);
  }
}

TEST(Enums, KeywordsAreSpeltAsTheContractHasThem) {
  EXPECT_EQ(to_string(Stage::static_), "static");
  EXPECT_EQ(to_string(Stage::import_), "import");
  EXPECT_EQ(to_string(Trust::in_process), "in-process");
}

TEST(Enums, AnUnknownNameIsNothing) {
  EXPECT_EQ(from_string<Status>("splendid"), std::nullopt);
  EXPECT_EQ(from_string<Stage>("static_"), std::nullopt);
  EXPECT_EQ(from_string<Trust>("in_process"), std::nullopt);
}

TEST(Enums, WhatIsNoEnumeratorHasNoWord) {
  EXPECT_EQ(to_string(static_cast<Status>(99)), "");
}

}  // namespace
}  // namespace kw
