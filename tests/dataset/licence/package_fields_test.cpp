#include "dataset/licence/metadata.h"

#include <gtest/gtest.h>

namespace kw::licence {
namespace {

TEST(PackageFields, LinesWithABlankInFrontGoOnAndTheBodyIsNoField) {
  const auto fields = package_fields(
      "Name: x\r\n"
      "License: MIT License\n"
      "        \n"
      "\tPermission is hereby granted\n"
      "Home-page: https://x.org\n"
      "\n"
      "Version: 9\n");
  ASSERT_EQ(fields.size(), 3U);
  EXPECT_EQ(fields[0].key, "Name");
  EXPECT_EQ(fields[0].value, "x");
  EXPECT_EQ(fields[1].value, "MIT License\n\nPermission is hereby granted");
  EXPECT_EQ(fields[1].first_line(), "MIT License");
  EXPECT_EQ(fields[2].key, "Home-page");
}

TEST(PackageFields, WhatGoesOnWithALineThatIsNoFieldIsNone) {
  const auto fields = package_fields("Name: x\nno field\n  Version: 1\n");
  ASSERT_EQ(fields.size(), 1U);
  EXPECT_EQ(fields[0].value, "x");
}

}  // namespace
}  // namespace kw::licence
