#include "dataset/licence/expression.h"

#include <gtest/gtest.h>

#include "dataset/licence/licence.h"

namespace kw::licence {
namespace {

std::string read_expression(std::string_view text) {
  const auto expression = parse_expression(text);
  return expression ? to_string(*expression) : "none";
}

TEST(SpdxExpression, AndBindsTighterThanOr) {
  EXPECT_EQ(read_expression("MIT or Apache-2.0 and ISC"), "MIT OR Apache-2.0 AND ISC");
  EXPECT_EQ(read_expression("(MIT OR Apache-2.0) AND ISC"), "(MIT OR Apache-2.0) AND ISC");
}

TEST(SpdxExpression, DeprecatedIdsAreMended) {
  EXPECT_EQ(read_expression("GPL-3.0"), "GPL-3.0-only");
  EXPECT_EQ(read_expression("LGPL-2.1+"), "LGPL-2.1-or-later");
  EXPECT_EQ(read_expression("apache-2.0"), "Apache-2.0");
}

TEST(SpdxExpression, WhatIsNone) {
  for (const char* text : {"", "AND", "MIT AND", "(MIT", "MIT)", "MIT Apache", "MIT WITH", "MIT & ISC", "()"})
    EXPECT_EQ(read_expression(text), "none") << text;
}

TEST(SpdxExpression, KnownIdsGetTheirSpelling) {
  EXPECT_EQ(known_expression("mit OR apache-2.0"), "MIT OR Apache-2.0");
  EXPECT_EQ(known_expression("Apache-2.0 WITH llvm-exception"), "Apache-2.0 WITH LLVM-exception");
  EXPECT_EQ(known_expression("LicenseRef-mine"), "LicenseRef-mine");
}

TEST(SpdxExpression, UnknownIdsAreNotKnown) {
  for (const char* text : {"MITT", "MIT OR MITT", "MIT WITH nothing", "LicenseRef-", "", "MIT AND"})
    EXPECT_FALSE(known_expression(text)) << text;
}

TEST(SpdxExpression, DeepNestingIsRefused) {
  EXPECT_EQ(read_expression(std::string(900, '(') + "MIT" + std::string(900, ')')), "none");
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
