#include <gtest/gtest.h>

#include "dataset/licence/licence.h"
#include "texts.h"

namespace kw::licence {
namespace {

std::string tag(std::string_view text) {
  const auto licence = from_tag(text);
  return licence ? licence->spdx : "none";
}

std::string notice(std::string_view text) {
  const auto licence = from_notice(text);
  return licence ? licence->spdx : "none";
}

TEST(SpdxTag, StandsInAnyComment) {
  EXPECT_EQ(tag("# SPDX-License-Identifier: MIT\n"), "MIT");
  EXPECT_EQ(tag("/* SPDX-License-Identifier: Apache-2.0 */"), "Apache-2.0");
  EXPECT_EQ(tag("<!-- SPDX-License-Identifier: ISC -->"), "ISC");
  EXPECT_EQ(tag("// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\r\n"),
            "Apache-2.0 WITH LLVM-exception");
  EXPECT_EQ(tag("\"# SPDX-License-Identifier: MIT\\n\","), "MIT");
}

TEST(SpdxTag, NamesItsLine) {
  EXPECT_EQ(from_tag("#!/x\n# SPDX-License-Identifier: MIT\n")->evidence, "SPDX tag, line 2");
}

TEST(SpdxTag, TwoOfThemCountBoth) {
  EXPECT_EQ(tag("# SPDX-License-Identifier: MIT\n# SPDX-License-Identifier: GPL-3.0\n"),
            "MIT AND GPL-3.0-only");
}

TEST(SpdxTag, ASlashAndACommaCountBoth) {
  EXPECT_EQ(tag("# SPDX-License-Identifier: MIT, GPL-2.0+\n"), "MIT AND GPL-2.0-or-later");
}

TEST(SpdxTag, WordsInPlaceOfAnIdAreKept) {
  EXPECT_EQ(tag("# SPDX-License-Identifier: GNU Affero General Public License v3.0\n"), "AGPL-3.0-only");
  EXPECT_EQ(tag("# SPDX-License-Identifier: Our Own Terms\n"), "LicenseRef-Our-Own-Terms");
}

TEST(SpdxTag, FarDownIsNoTag) {
  EXPECT_EQ(tag(std::string(60, '\n') + "# SPDX-License-Identifier: MIT\n"), "none");
}

TEST(LicenceNotice, NamesTheLicence) {
  EXPECT_EQ(notice("# This source code is licensed under the MIT license found in the\n# LICENSE file\n"),
            "MIT");
  EXPECT_EQ(notice("// Licensed under the Apache License, Version 2.0 (the \"License\");\n"), "Apache-2.0");
  EXPECT_EQ(notice("# licensed under the BSD 3-Clause license\n"), "BSD-3-Clause");
}

TEST(LicenceNotice, GnuWithItsVersion) {
  EXPECT_EQ(notice(gpl_notice), "AGPL-3.0-or-later");
}

TEST(LicenceNotice, AFullText) {
  EXPECT_EQ(notice("/*\n" + mit + "*/\nint x;\n"), "MIT");
}

TEST(LicenceNotice, ProprietaryRightsAreNoLicence) {
  EXPECT_EQ(notice("# NVIDIA CORPORATION and its licensors retain all intellectual property\n# and "
                   "proprietary rights\n"),
            "LicenseRef-NvidiaProprietary");
}

TEST(LicenceNotice, ResearcherReciprocityIsNamed) {
  EXPECT_EQ(notice("# Licensed under the June 9 Researcher Reciprocity License, Version 1.0.\n"),
            "LicenseRef-Researcher-Reciprocity");
}

TEST(LicenceNotice, CodeWithoutOneHasNone) {
  EXPECT_EQ(notice("import triton\n\n@triton.jit\ndef kernel(x): pass\n"), "none");
  EXPECT_EQ(notice("# Copyright (c) Somebody. All rights reserved.\n"), "none");
}

}  // namespace
}  // namespace kw::licence
