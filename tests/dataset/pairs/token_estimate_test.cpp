#include "dataset/pairs/token_estimate.h"

#include <gtest/gtest.h>

#include <string>

namespace kw::pairs {
namespace {

TEST(TokenEstimate, OfNothingIsNothing) {
  EXPECT_EQ(estimated_tokens(""), 0U);
}

TEST(TokenEstimate, IsNearTheTokensOfQwen) {
  // 55 tokens of Qwen3's tokenizer.
  const std::string code =
      "    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
      "    x = tl.load(x_ptr + offsets, mask=offsets < n)\n"
      "    tl.store(y_ptr + offsets, x * factor, mask=offsets < n)\n";
  EXPECT_NEAR(static_cast<double>(estimated_tokens(code)), 55, 8);
}

TEST(TokenEstimate, DigitsAreTokensOfTheirOwn) {
  EXPECT_GE(estimated_tokens("123456789"), 9U);
}

TEST(TokenEstimate, LettersBeyondAsciiCount) {
  EXPECT_GT(estimated_tokens("größer 大きい"), 4U);
}

}  // namespace
}  // namespace kw::pairs
