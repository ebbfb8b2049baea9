#include <gtest/gtest.h>

#include "dataset/licence/licence.h"
#include "texts.h"

namespace kw::licence {
namespace {

std::string read_metadata(const std::string& text) {
  const auto licence = from_package_metadata(text);
  return licence ? licence->spdx + " < " + licence->evidence : "none";
}

const std::string head = "Metadata-Version: 2.1\nName: x\n";

TEST(PackageMetadata, TheExpressionComesFirst) {
  EXPECT_EQ(read_metadata(head + "License: BSD\nLicense-Expression: MIT\n"),
            "MIT < METADATA: License-Expression");
}

TEST(PackageMetadata, ALicenceByItsName) {
  EXPECT_EQ(read_metadata(head + "License: Apache 2.0\n"), "Apache-2.0 < METADATA: License");
}

TEST(PackageMetadata, ALicenceAsAText) {
  std::string text = mit;
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 9)
    text.replace(at, 1, "\n        ");
  EXPECT_EQ(read_metadata(head + "License: " + text + "\nClassifier: Topic :: x\n"),
            "MIT < METADATA: License");
}

TEST(PackageMetadata, Classifiers) {
  EXPECT_EQ(read_metadata(head + "Classifier: License :: OSI Approved :: MIT License\n"),
            "MIT < METADATA: classifier");
}

TEST(PackageMetadata, FieldAndClassifierThatDiffer) {
  EXPECT_EQ(
      read_metadata(
          head +
          "License: MIT\nClassifier: License :: OSI Approved :: GNU Affero General Public License v3\n"),
      "MIT AND AGPL-3.0-only < METADATA: License and classifier");
}

TEST(PackageMetadata, AVagueWordNamesNoLicence) {
  EXPECT_EQ(read_metadata(head + "License: BSD\n"), "none");
  EXPECT_EQ(read_metadata(head + "License: Proprietary\n"), "none");
}

TEST(PackageMetadata, TheDescriptionIsNotRead) {
  EXPECT_EQ(read_metadata(head + "\nLicense: MIT\n"), "none");
}

TEST(PackageMetadata, Pyproject) {
  EXPECT_EQ(read_metadata("[project]\nname = \"x\"\nlicense = \"MIT\"\n"),
            "MIT < pyproject.toml: License-Expression");
  EXPECT_EQ(read_metadata("[project]\nlicense = { text = \"Apache-2.0\" }\n"),
            "Apache-2.0 < pyproject.toml: License");
  EXPECT_EQ(read_metadata("[project\n"), "none");
}

TEST(Metadata, OfAPyprojectThatNestsTenThousandDeepIsPassedOver) {
  std::string deep = "a";
  for (int i = 0; i < 10'000; ++i) deep += ".a";
  EXPECT_EQ(read_metadata(deep + " = 1\n[project]\nlicense = \"MIT\"\n"),
            read_metadata("[project]\nname = \"x\"\n"));
}

}  // namespace
}  // namespace kw::licence
