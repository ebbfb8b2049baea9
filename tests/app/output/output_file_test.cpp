// Files that a verb may write, and those that it must leave alone.
#include "output/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/core/files.h"
#include "support/world.h"

namespace kw {
namespace {

using testing::HasSubstr;

bool never(const std::filesystem::path&) {
  return false;
}

TEST(LooksLike, NamesTheKindOfAFile) {
  Folder folder;
  using namespace std::string_literals;
  EXPECT_EQ(looks_like(folder.write("a", "SQLite format 3\0 and pages"s)), "an SQLite database");
  EXPECT_EQ(looks_like(folder.write("b", "PAR1\x15"s)), "a Parquet file");
  EXPECT_EQ(looks_like(folder.write("c", "a\0b"s)), "binary data");
  EXPECT_EQ(looks_like(folder.write("d", "{\"prompt\": 1, \"label\": 2}\n{}\n")),
            "JSON with the fields \"prompt\", \"label\"");
  EXPECT_EQ(looks_like(folder.write("e", "[\n1]\n")), "JSON");
  EXPECT_EQ(looks_like(folder.write("list", "[\n{\"a\": 1},\n{}\n]\n")), "JSON with the fields \"a\"");
  EXPECT_EQ(looks_like(folder.write("f", "\nmy notes\x1b[2J\nmore\n")),
            "text that begins with \"my notes\uFFFD[2J\"");
  EXPECT_EQ(looks_like(folder.path("")), "a folder");
  EXPECT_EQ(looks_like("/dev/null"), "a device or a pipe");
}

TEST(CheckOurs, AForeignFileIsRefusedWithItsKindAndARemedy) {
  Folder folder;
  std::string path = folder.write("notes.json", "my notes\n");
  auto checked = check_ours(path, "a trace file of kernelwright", never);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().what, path +
                                      " exists and is not a trace file of kernelwright: it looks like text "
                                      "that begins with \"my notes\"");
  EXPECT_THAT(checked.error().remedy, HasSubstr("--output"));
}

TEST(CheckOurs, AMissingOrEmptyFileAndOurOwnAreFine) {
  Folder folder;
  EXPECT_TRUE(check_ours(folder.path("missing"), "ours", never));
  EXPECT_TRUE(check_ours(folder.write("empty", ""), "ours", never));
  EXPECT_TRUE(check_ours(folder.write("ours", "x"), "ours", [](const auto&) { return true; }));
}

TEST(CheckOurs, ADeviceIsNeverOurs) {
  EXPECT_FALSE(check_ours("/dev/full", "ours", [](const auto&) { return true; }));
}

TEST(SetAside, TheFileKeepsItsContentUnderTheNextFreeNumber) {
  Folder folder;
  folder.write("o.1", "taken");
  ASSERT_TRUE(set_aside(folder.write("o", "mine")));
  EXPECT_EQ(*read_file(folder.path("o.2")), "mine");
  EXPECT_EQ(*read_file(folder.path("o.1")), "taken");
  EXPECT_FALSE(std::filesystem::exists(folder.path("o")));
}

TEST(SetAside, NothingIsLeftOfAnEmptyFile) {
  Folder folder;
  ASSERT_TRUE(set_aside(folder.write("o", "")));
  EXPECT_FALSE(std::filesystem::exists(folder.path("o.1")));
}

}  // namespace
}  // namespace kw
