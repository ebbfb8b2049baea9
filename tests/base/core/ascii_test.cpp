#include "base/core/text.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

TEST(Ascii, OnlyItsOwnLettersHaveCase) {
  EXPECT_EQ(lower("Triton-3.6 @[`{ \xC3\x84"), "triton-3.6 @[`{ \xC3\x84");
  EXPECT_TRUE(iequals("Content-Length", "cONTENT-lENGTH"));
  EXPECT_FALSE(iequals("@", "`"));
  EXPECT_FALSE(iequals("\xC3\x84", "\xC3\xA4"));
  EXPECT_FALSE(iequals("close", "closed"));
}

TEST(Ascii, ByteOfAnotherCharacterIsNoLetter) {
  EXPECT_FALSE(is_word('\xC3'));
  EXPECT_FALSE(is_letter_or_digit('\xC3'));
}

TEST(Ascii, NeighboursOfEachRangeAreOutside) {
  for (char c : {'/', ':', '@', '[', '`', '{'}) EXPECT_FALSE(is_word(c)) << c;
  for (char c : {'0', '9', 'A', 'Z', 'a', 'z', '_'}) EXPECT_TRUE(is_word(c)) << c;
  EXPECT_FALSE(is_letter_or_digit('_'));
}

}  // namespace
}  // namespace kw
