#include <gmock/gmock.h>
#include <zlib.h>

#include "base/core/crypto.h"
#include "small_archives.h"
#include "world.h"

namespace kw::collect {
namespace {

using testing::ElementsAre;

std::string gzip_of(const Folder& folder, const std::string& name, const std::string& bytes,
                    const std::string& mode = "wb") {
  const std::string path = folder / name;
  gzFile file = gzopen(path.c_str(), mode.c_str());
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  return path;
}

TEST(Archive, ASourceDistributionNamesItself) {
  const Folder folder;
  const std::string info =
      "Metadata-Version: 2.1\nName: Big_Kernels\nVersion: 1.5\nLicense-Expression: MIT\n";
  const auto path =
      gzip_of(folder, "other-9.tar.gz", tar_of({{"x-1/a.py", "a = 1\n"}, {"x-1/PKG-INFO", info}}));
  const auto got = collected(path);
  ASSERT_EQ(got.files.size(), 1u);
  EXPECT_EQ(got.files[0].origin.kind, corpus::OriginKind::sdist);
  EXPECT_EQ(got.files[0].origin.name, "big-kernels");
  EXPECT_EQ(got.files[0].origin.version, "1.5");
  EXPECT_EQ(got.files[0].origin.sha256, sha256_hex(*read_file(path)));
  EXPECT_EQ(got.files[0].licence.spdx, "MIT") << "the licence stands after the file";
}

TEST(Archive, ALicenceWithAnEmptyLineDoesNotHideTheFieldsBehindIt) {
  const Folder folder;
  const std::string info =
      "Metadata-Version: 2.1\nName: x\nLicense: MIT License\n        \n        Permission\nVersion: 1.5\n";
  const auto got =
      collected(gzip_of(folder, "x-9.tar.gz", tar_of({{"x-1/a.py", "a = 1\n"}, {"x-1/PKG-INFO", info}})));
  ASSERT_EQ(got.files.size(), 1u);
  EXPECT_EQ(got.files[0].origin.version, "1.5");
}

TEST(Archive, IdentifyKnowsItByItsNameAndHash) {
  const Folder folder;
  const auto path = folder.put("flag_gems-5.0.2-py3-none-any.whl", "not read");
  const auto origin = identify(path);
  ASSERT_TRUE(origin);
  EXPECT_EQ(origin->name, "flag-gems");
  EXPECT_EQ(origin->version, "5.0.2");
  EXPECT_EQ(origin->sha256, sha256_hex("not read"));
}

TEST(Archive, NamesThatLeadOutsideAreRefused) {
  const Folder folder;
  const auto got = collected(folder.put(
      "x.tar",
      tar_of({{"../a.py", ""}, {"/b.py", ""}, {"x/../../c.py", ""}, {"C:\\d.py", ""}, {"./e.py", "e"}})));
  EXPECT_THAT(got.paths(), ElementsAre("e.py"));
  EXPECT_EQ(got.tally.skipped.at("leads outside"), 4u);
}

TEST(Archive, BadNamesAreRefusedAndShownPlain) {
  const Folder folder;
  const auto got =
      collected(folder.put("x.tar", tar_of({{"a\033[1m.py", ""}, {"\xff\xfe.py", ""}, {"ok.py", ""}})));
  EXPECT_THAT(got.paths(), ElementsAre("ok.py"));
  EXPECT_EQ(got.tally.skipped.at("bad name"), 2u);
  for (const auto& skip : got.skips) EXPECT_EQ(skip.path.find('\033'), std::string::npos);
}

TEST(Archive, NamesInOtherScriptsAreKept) {
  const Folder folder;
  const auto zip = collected(folder.put("x.zip", zip_of({{"d\xc3\xa9/\xd1\x84.py", "x"}})));
  EXPECT_THAT(zip.paths(), ElementsAre("d\xc3\xa9/\xd1\x84.py"));
  const auto tar = collected(folder.put("x.tar", tar_of({{"\xd1\x84.py", "x"}})));
  EXPECT_THAT(tar.paths(), ElementsAre("\xd1\x84.py"));
}

TEST(Archive, AWheelIsReadWithItsLicence) {
  const Folder folder;
  const auto got = collected(folder.put(
      "x-1-py3-none-any.whl",
      zip_of({{"x/a.py", "x"},
              {"x-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: x\nVersion: 1\nLicense: MIT\n"}})));
  ASSERT_EQ(got.files.size(), 1u);
  EXPECT_EQ(got.files[0].origin.kind, corpus::OriginKind::wheel);
  EXPECT_EQ(got.files[0].licence.spdx, "MIT");
}

TEST(Archive, WhatIsEncryptedIsPassedOver) {
  const Folder folder;
  const auto got = collected(folder.put("x.zip", zip_of({{"a.py", "0123456789abcdef"}}, 1)));
  EXPECT_EQ(got.reasons()["a.py"], "encrypted");
}

TEST(Archive, LinksAndDevicesAreRefused) {
  const Folder folder;
  const auto got = collected(folder.put(
      "x.tar",
      tar_of(
          {{"a.py", "", '2', "/etc/passwd"}, {"b.py", "", '1', "ok.py"}, {"c.py", "", '3'}, {"ok.py", ""}})));
  EXPECT_THAT(got.paths(), ElementsAre("ok.py"));
  EXPECT_EQ(got.reasons()["a.py"], "link");
  EXPECT_EQ(got.reasons()["b.py"], "link");
  EXPECT_EQ(got.reasons()["c.py"], "device");
}

TEST(Archive, TheFirstOfTwoEqualNamesCounts) {
  const Folder folder;
  const auto got = collected(folder.put("x.tar", tar_of({{"a.py", "first"}, {"./a.py", "second"}})));
  ASSERT_EQ(got.files.size(), 1u);
  EXPECT_EQ(got.files[0].bytes, "first");
  EXPECT_EQ(got.reasons()["a.py"], "name twice");
}

TEST(Archive, BinaryAndOtherEncodingsArePassedOver) {
  const Folder folder;
  const auto got = collected(
      folder.put("x.tar", tar_of({{"a.py", std::string("a\0b", 3)}, {"b.py", "\xff"}, {"c.so", "\xff"}})));
  EXPECT_EQ(got.reasons(), (std::map<std::string, std::string>{{"a.py", "binary"}, {"b.py", "not UTF-8"}}));
  EXPECT_EQ(got.tally.files_seen, 3u);
}

TEST(Archive, ALargeFileIsPassedOver) {
  const Folder folder;
  Limits limits;
  limits.file_bytes = 10;
  const auto got = collected(
      folder.put("x.tar", tar_of({{"a.py", std::string(11, 'a')}, {"b.py", std::string(10, 'b')}})), limits);
  EXPECT_THAT(got.paths(), ElementsAre("b.py"));
  EXPECT_EQ(got.reasons()["a.py"], "too large");
}

TEST(Archive, ABombIsLeftBeforeItIsUnpacked) {
  const Folder folder;
  const std::string zeros(std::size_t{80} << 20, '\0');
  const auto path =
      gzip_of(folder, "x.tar.gz", tar_of({{"a.py", "a"}, {"zeros", zeros}, {"b.py", "b"}}), "wb9");
  Limits limits;
  limits.expansion = 100;
  const auto got = collected(path, limits);
  EXPECT_THAT(got.paths(), ElementsAre("a.py"));
  EXPECT_EQ(got.tally.skipped.at("too much"), 1u);
}

TEST(Archive, EntriesAreCounted) {
  const Folder folder;
  Limits limits;
  limits.entries = 2;
  const auto got = collected(folder.put("x.tar", tar_of({{"a.py", ""}, {"b.py", ""}, {"c.py", ""}})), limits);
  EXPECT_THAT(got.paths(), ElementsAre("a.py", "b.py"));
  EXPECT_EQ(got.tally.skipped.at("too much"), 1u);
}

TEST(Archive, WhatWasReadOfATruncatedOneStays) {
  const Folder folder;
  const std::string whole = tar_of({{"a.py", "a"}, {"b.py", std::string(5'000, 'b')}});
  const auto got = collected(folder.put("x.tar", whole.substr(0, 2'500)));
  EXPECT_THAT(got.paths(), ElementsAre("a.py"));
  EXPECT_GE(got.tally.skipped.at("damaged"), 1u);
}

TEST(Archive, AnArchiveInAnArchiveIsRead) {
  const Folder folder;
  const std::string inner =
      tar_of({{"LICENSE", "Licensed under the Apache License, Version 2.0."}, {"a.py", "a"}});
  const std::string deep = tar_of({{"2.tar", tar_of({{"3.tar", inner}, {"b.py", "b"}})}});
  const auto got = collected(folder.put("x.tar", tar_of({{"in.tar", inner}, {"1.tar", deep}})));
  EXPECT_THAT(got.paths(), ElementsAre("in.tar!a.py", "1.tar!2.tar!b.py")) << "two deep, and no deeper";
  EXPECT_EQ(got.files[0].licence.spdx, "Apache-2.0");
}

TEST(Archive, WhatIsNoArchiveIsAnError) {
  const Folder folder;
  EXPECT_NE(collected(folder.put("x.whl", "no zip")).error, "");
  EXPECT_NE(collected(folder.put("y.tar.gz", std::string("\x1f\x8b\x08 broken", 10))).error, "");
  EXPECT_NE(collected(folder / "absent").error, "");
}

}  // namespace
}  // namespace kw::collect
