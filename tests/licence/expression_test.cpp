#include "licence/expression.h"

#include <gtest/gtest.h>

#include "licence/licence.h"

namespace kw::licence {
namespace {

std::string read(std::string_view text) {
  const auto expression = parse_expression(text);
  return expression ? to_string(*expression) : "none";
}

TEST(SpdxExpression, AndBindsTighterThanOr) {
  EXPECT_EQ(read("MIT or Apache-2.0 and ISC"), "MIT OR Apache-2.0 AND ISC");
  EXPECT_EQ(read("(MIT OR Apache-2.0) AND ISC"), "(MIT OR Apache-2.0) AND ISC");
}

TEST(SpdxExpression, DeprecatedIdsAreMended) {
  EXPECT_EQ(read("GPL-3.0"), "GPL-3.0-only");
  EXPECT_EQ(read("LGPL-2.1+"), "LGPL-2.1-or-later");
  EXPECT_EQ(read("apache-2.0"), "Apache-2.0");
}

TEST(SpdxExpression, WhatIsNone) {
  for (const char* text : {"", "AND", "MIT AND", "(MIT", "MIT)", "MIT Apache", "MIT WITH", "MIT & ISC", "()"})
    EXPECT_EQ(read(text), "none") << text;
}

TEST(SpdxExpression, DeepNestingIsRefused) {
  EXPECT_EQ(read(std::string(900, '(') + "MIT" + std::string(900, ')')), "none");
}

TEST(AllowedLicence, AChoiceIsMetByOne) {
  EXPECT_TRUE(allowed("MIT OR GPL-3.0-only", permissive()));
  EXPECT_FALSE(allowed("MIT AND GPL-3.0-only", permissive()));
  EXPECT_FALSE(allowed("(MIT OR ISC) AND AGPL-3.0-only", permissive()));
}

TEST(AllowedLicence, UnknownIsNot) {
  EXPECT_FALSE(allowed("", permissive()));
  EXPECT_FALSE(allowed("MIT AND", permissive()));
  EXPECT_FALSE(allowed("LicenseRef-NvidiaProprietary", permissive()));
}

TEST(AllowedLicence, AKnownExceptionOnlyAdds) {
  EXPECT_TRUE(allowed("Apache-2.0 WITH LLVM-exception", permissive()));
  EXPECT_FALSE(allowed("Apache-2.0 WITH something-of-ours", permissive()));
}

TEST(AllowedLicence, OrLaterLeavesThisVersion) {
  EXPECT_TRUE(allowed("GPL-2.0-or-later", {"GPL-2.0-only"}));
  EXPECT_FALSE(allowed("GPL-2.0-only", {"GPL-2.0-or-later"}));
}

}  // namespace
}  // namespace kw::licence
