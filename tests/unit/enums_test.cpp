#include <gtest/gtest.h>

#include "schema/enums.h"

namespace kw {
namespace {

TEST(Enums, EveryErrorClassComesBackFromItsName) {
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
}

}  // namespace
}  // namespace kw
