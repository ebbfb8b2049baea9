#include "base/core/crypto.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

TEST(Base64, IsRead) {
  EXPECT_EQ(base64_decoded(""), "");
  EXPECT_EQ(base64_decoded("Zg=="), "f");
  EXPECT_EQ(base64_decoded("Zm8="), "fo");
  EXPECT_EQ(base64_decoded("Zm9vYmFy"), "foobar");
  EXPECT_EQ(base64_decoded("/+8A"), std::string("\xff\xef\0", 3));
}

TEST(Base64, ThatIsNoneIsNothing) {
  for (const char* text : {"Zg", "Zg=", "Z===", "====", "Zm9v Ymy", "Zm=v", "Zm9\n"})
    EXPECT_FALSE(base64_decoded(text)) << text;
}

}  // namespace
}  // namespace kw
