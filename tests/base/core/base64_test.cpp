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

TEST(Base64, OfBytesOfEveryLengthIsReadBack) {
  EXPECT_EQ(base64_encoded(""), "");
  EXPECT_EQ(base64_encoded("f"), "Zg==");
  // The encoder works in pieces of 3 MiB.
  constexpr std::size_t piece = std::size_t{3} << 20;
  for (std::size_t bytes :
       {std::size_t{1}, std::size_t{2}, std::size_t{3}, piece - 1, piece, piece + 1, 2 * piece + 2}) {
    std::string text(bytes, '\0');
    for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 7);
    EXPECT_TRUE(base64_decoded(base64_encoded(text)) == text) << bytes;
  }
}

}  // namespace
}  // namespace kw
