#include <gmock/gmock.h>

#include <filesystem>

#include "base/core/files.h"
#include "dataset/licence/licence.h"
#include "texts.h"

namespace kw::licence {
namespace {

std::string words_each_on_a_line(const std::string& text) {
  std::string result = "# ";
  for (const char c : text) result += c == ' ' ? std::string("\n#   ") : std::string(1, c);
  return result;
}

TEST(LicenceText, MitIsMit) {
  EXPECT_EQ(from_text(mit), "MIT");
}

TEST(LicenceText, WrappingAndCommentMarksDoNotMatter) {
  EXPECT_EQ(from_text(words_each_on_a_line(mit)), "MIT");
}

TEST(LicenceText, ACopyrightLineMoreDoesNotMatter) {
  EXPECT_EQ(from_text("Copyright 2025 Another, All rights reserved.\n" + mit), "MIT");
}

TEST(LicenceText, AClauseInsideIsNoticed) {
  EXPECT_EQ(from_text(mit_title + mit_grant + "The Software must be used for good and never for any harm.\n" +
                      mit_rest),
            std::nullopt);
}

TEST(LicenceText, AClauseAfterItIsNoticed) {
  EXPECT_EQ(from_text(mit + "\nThe Software may not be sold.\n"), std::nullopt);
}

TEST(LicenceText, NonCommercialUseIsNotMit) {
  const auto spdx = from_text(mit + "\nThe above is for non-commercial use.\n");
  EXPECT_FALSE(spdx && allowed(*spdx, permissive()));
}

TEST(LicenceText, CommonsClauseIsNotMit) {
  EXPECT_EQ(from_text("Commons Clause License Condition v1.0\n\n" + mit),
            "MIT AND LicenseRef-Commons-Clause");
}

std::string reciprocity() {
  std::string text =
      "June 9 Researcher Reciprocity License\nVersion 1.0\ndated June 9, 2026\n\nThis is a license between "
      "you and the licensor. The use restriction stands in Attachment A.\n";
  for (int n = 0; n < 60; ++n) text += "A clause of this license that grants or restricts.\n";
  return text;
}

TEST(LicenceText, ResearcherReciprocityIsARestriction) {
  const auto spdx = from_text(reciprocity());
  EXPECT_EQ(spdx, "LicenseRef-Researcher-Reciprocity");
  EXPECT_FALSE(allowed(*spdx, permissive()));
  EXPECT_THAT(restrictions_in("MIT AND " + *spdx), testing::ElementsAre(testing::HasSubstr("training")));
}

TEST(LicenceText, ResearcherReciprocityBesideMitIsNotMit) {
  const auto spdx = from_text(mit + "\nThis project is under the June 9 Researcher Reciprocity License.\n");
  EXPECT_EQ(spdx, "MIT AND LicenseRef-Researcher-Reciprocity");
}

TEST(LicenceText, PermissiveLicencesHaveNoRestriction) {
  for (const std::string& spdx : permissive()) EXPECT_TRUE(restrictions_in(spdx).empty()) << spdx;
}

TEST(LicenceText, WithoutItsDisclaimerItIsNotMit) {
  EXPECT_EQ(from_text(mit_title + mit_grant), std::nullopt);
}

TEST(LicenceText, OurOwnLicenceIsApache) {
  const auto text = read_file(std::filesystem::path(KW_SOURCE_DIR) / "LICENSE");
  ASSERT_TRUE(text);
  EXPECT_EQ(from_text(*text), "Apache-2.0");
  EXPECT_EQ(from_text(*text + "\n" + mit), "Apache-2.0 AND MIT");
}

TEST(LicenceText, AReferenceInPlaceOfTheText) {
  EXPECT_EQ(from_text("Licensed under the Apache License, Version 2.0."), "Apache-2.0");
}

TEST(LicenceText, ALongTextOfNothingIsNone) {
  EXPECT_EQ(from_text(std::string(std::size_t{1} << 20, 'a')), std::nullopt);
  std::string beginnings;
  for (int n = 0; n < 20'000; ++n)
    beginnings += "permission is hereby granted free of charge to any person obtaining a copy ";
  EXPECT_EQ(from_text(beginnings), std::nullopt);
}

TEST(LicenceFile, IsKnownByItsName) {
  for (const char* name :
       {"LICENSE", "a/COPYING.md", "LICENCE-MIT", "LICENSE.txt", "License.rst", "MIT-LICENSE"})
    EXPECT_TRUE(is_licence_file(name)) << name;
  for (const char* name : {"NOTICE", "license.py", "licenses.json", "a/LICENSE/x.py"})
    EXPECT_FALSE(is_licence_file(name)) << name;
}

}  // namespace
}  // namespace kw::licence
