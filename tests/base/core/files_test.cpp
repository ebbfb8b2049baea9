// Complete reads and writes of a descriptor.
#include "base/core/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <iterator>
#include <string>

#include "support/world.h"

namespace kw {
namespace {

TEST(WriteAll, NamesAFullDiskByErrno) {
  Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full);
  EXPECT_FALSE(write_all(full.get(), "x"));
  EXPECT_EQ(errno, ENOSPC);
}

TEST(ReadAt, ReturnsFewerBytesAtTheEndOfTheFile) {
  auto file = memory_file("bytes", "0123456789");
  ASSERT_TRUE(file);
  std::string bytes(4, '\0');
  EXPECT_EQ(read_at(file->get(), 3, bytes), 4U);
  EXPECT_EQ(bytes, "3456");
  EXPECT_EQ(read_at(file->get(), 8, bytes), 2U);
  EXPECT_EQ(read_at(file->get(), 10, bytes), 0U);
}

TEST(ReadAt, IsEmptyWhereNothingCanBeRead) {
  std::string bytes(4, '\0');
  EXPECT_EQ(read_at(-1, 0, bytes), std::nullopt);
  EXPECT_EQ(errno, EBADF);
}

TEST(WriteFile, NamesThePathThatWasGivenAndLeavesNothingElse) {
  Folder folder;
  auto absent = write_file(folder.path("none/a.txt"), "x");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().what, "cannot write " + folder.path("none/a.txt") + ": No such file or directory");
  std::filesystem::create_directories(folder.path("taken/inside"));
  EXPECT_FALSE(write_file(folder.path("taken"), "x"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(ReadTextFile, LeavesOutTheByteOrderMark) {
  Folder folder;
  EXPECT_EQ(read_text_file(folder.write("a.py", "\xEF\xBB\xBFx = 1\n")).value(), "x = 1\n");
}

}  // namespace
}  // namespace kw
