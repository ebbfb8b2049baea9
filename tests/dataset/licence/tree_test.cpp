#include <gtest/gtest.h>

#include "dataset/licence/licence.h"
#include "texts.h"

namespace kw::licence {
namespace {

const std::string metadata = "Metadata-Version: 2.1\nName: x\n";
const std::string apache = "Licensed under the Apache License, Version 2.0.";

TEST(LicenceTree, TheNearestFileCounts) {
  Tree tree;
  tree.add("LICENSE", apache);
  tree.add("x/y/LICENSE", mit);
  EXPECT_EQ(tree.of("x/y/z/a.py", "").spdx, "MIT");
  EXPECT_EQ(tree.of("x/y/z/a.py", "").evidence, "x/y/LICENSE");
  EXPECT_EQ(tree.of("x/a.py", "").spdx, "Apache-2.0");
}

TEST(LicenceTree, AFileSaysItself) {
  Tree tree;
  tree.add("LICENSE", apache);
  EXPECT_EQ(tree.of("a.py", gpl_notice).spdx, "AGPL-3.0-or-later");
  EXPECT_EQ(tree.of("a.py", "# SPDX-License-Identifier: MIT\n").spdx, "MIT");
}

TEST(LicenceTree, TagAndNoticeThatDifferCountBoth) {
  Tree tree;
  EXPECT_EQ(tree.of("a.py", "# SPDX-License-Identifier: MIT\n" + gpl_notice).spdx,
            "MIT AND AGPL-3.0-or-later");
}

TEST(LicenceTree, ANoticeOnAPartLeavesTheRestToTheTree) {
  Tree tree;
  tree.add("LICENSE", apache);
  EXPECT_EQ(tree.of("a.py", "# Adapted from elsewhere, which is licensed under the MIT license.\n").spdx,
            "MIT AND Apache-2.0");
}

TEST(LicenceTree, AnUnknownLicenceWithLaterVersionsIsNoChoiceOfAnother) {
  Tree tree;
  tree.add("LICENSE-MIT", mit);
  tree.add("LICENSE",
           "You may use this under version 2 of our terms or, at your option, any later version.\n");
  EXPECT_NE(tree.of("a.py", "").spdx, "MIT");
}

TEST(LicenceTree, LicencesOfABuiltPackageSpeakForItsRoot) {
  Tree tree;
  tree.add("x-1.dist-info/METADATA", metadata + "License-Expression: MIT\n");
  EXPECT_EQ(tree.of("x/a.py", "").evidence, "x-1.dist-info/METADATA: License-Expression");
  tree.add("x-1.dist-info/licenses/LICENSE", mit);
  EXPECT_EQ(tree.of("x/a.py", "").evidence, "x-1.dist-info/licenses/LICENSE");
}

TEST(LicenceTree, InstalledPackagesSpeakForThemselves) {
  Tree tree;
  tree.add("site/x_y-1.dist-info/METADATA", metadata + "License-Expression: MIT\n");
  tree.add("site/z-1.dist-info/METADATA", metadata + "License-Expression: AGPL-3.0-only\n");
  EXPECT_EQ(tree.of("site/x_y/a.py", "").spdx, "MIT");
  EXPECT_EQ(tree.of("site/z/a.py", "").spdx, "AGPL-3.0-only");
  EXPECT_EQ(tree.of("site/other/a.py", "").spdx, "");
}

TEST(LicenceTree, FileAndMetadataThatDifferCountBoth) {
  Tree tree;
  tree.add("LICENSE", mit);
  tree.add("PKG-INFO", metadata + "License-Expression: AGPL-3.0-only\n");
  EXPECT_EQ(tree.of("a.py", "").spdx, "MIT AND AGPL-3.0-only");
}

TEST(LicenceTree, SeveralFilesCountAll) {
  Tree tree;
  tree.add("LICENSE", apache);
  tree.add("COPYING", mit);
  EXPECT_EQ(tree.of("a.py", "").spdx, "Apache-2.0 AND MIT");
}

TEST(LicenceTree, NamesOrMetadataMaySayOr) {
  Tree named;
  named.add("LICENSE-APACHE", apache);
  named.add("LICENSE-MIT", mit);
  EXPECT_EQ(named.of("a.py", "").spdx, "Apache-2.0 OR MIT");
  Tree told;
  told.add("LICENSE", apache);
  told.add("COPYING", mit);
  told.add("PKG-INFO", metadata + "License-Expression: MIT OR Apache-2.0\n");
  EXPECT_EQ(told.of("a.py", "").spdx, "MIT OR Apache-2.0");
}

TEST(LicenceTree, ATextThatIsNotRecognisedMakesTheLicenceUnknown) {
  Tree tree;
  tree.add("PKG-INFO", metadata + "License-Expression: MIT\n");
  tree.add("LICENSE", mit + "The Software may not be sold.\n");
  EXPECT_EQ(tree.of("a.py", "").spdx, "");
}

TEST(LicenceTree, NothingSaysNothing) {
  EXPECT_EQ(Tree().of("a.py", "x = 1\n").spdx, "");
}

}  // namespace
}  // namespace kw::licence
