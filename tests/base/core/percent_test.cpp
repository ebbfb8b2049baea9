#include "base/core/text.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

TEST(Percent, EscapesBecomeBytesAndAllElseStays) {
  EXPECT_EQ(percent_decoded("a%2Fb%c3%A4"), "a/b\xC3\xA4");
  EXPECT_EQ(percent_decoded("%41"), "A");
  for (const char* plain : {"", "a+b", "100%", "%2", "%zz", "%-1", "%+1"})
    EXPECT_EQ(percent_decoded(plain), plain);
}

}  // namespace
}  // namespace kw
