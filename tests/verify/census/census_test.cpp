// The census of some libraries.
#include "verify/census/census.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/core/files.h"
#include "support/home.h"
#include "verify/recording/elf.h"

#include "library.h"

namespace kw::census {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class TheCensus : public ::testing::Test {
 protected:
  TheCensus() { fs::create_directories(folder_ / "lib"); }
  ~TheCensus() override { fs::remove_all(folder_); }

  Result<Census> taken(unsigned capability = 90) const {
    return take_census(libraries_in({folder_.string()}), capability);
  }

  const fs::path folder_ =
      fs::path(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(TheCensus, HasTheKernelsOfAllLibraries) {
  write(folder_ / "lib" / "libone.so", library_of(fatbin_of({{.cubin = one, .packing = Packing::zstd}})));
  write(folder_ / "libtwo.so.9", library_of(fatbin_of({{.cubin = two}})));
  auto census = taken();
  ASSERT_TRUE(census);
  EXPECT_EQ(census->keys().size(), 2U);
  EXPECT_TRUE(census->has(key_of(one, "one")));
  EXPECT_TRUE(census->has(key_of(two, "two")));
  EXPECT_FALSE(census->has(0));
}

TEST_F(TheCensus, KnowsAKernelByItsCodeAndNotByItsName) {
  write(folder_ / "libone.so", library_of(fatbin_of({{.cubin = one}})));
  auto census = taken();
  ASSERT_TRUE(census);
  EXPECT_TRUE(census->has(key_of(cubin_with("other", 1), "other")));
  EXPECT_FALSE(census->has(key_of(cubin_with("one", 3), "one")));
}

TEST_F(TheCensus, HasTheKernelsThatTheAssemblerMade) {
  auto cubin = read_file(source_file("tests/native_gpu/replayer_kernels.cubin"));
  ASSERT_TRUE(cubin);
  const Image image(cubin->begin(), cubin->end());
  write(folder_ / "libreal.so", library_of(fatbin_of({{.cubin = image, .packing = Packing::zstd}})));
  auto census = taken();
  ASSERT_TRUE(census);
  for (const char* kernel : {"set", "add"}) EXPECT_TRUE(census->has(key_of(image, kernel))) << kernel;
}

TEST_F(TheCensus, OfNoKernelIsAnError) {
  write(folder_ / "libone.so", library_of(fatbin_of({{.cubin = one, .architecture = 80}})));
  EXPECT_THAT(taken().error().what, HasSubstr("no kernel for compute capability 9.0 is in 1 libraries"));
  EXPECT_TRUE(taken(86));
}

TEST_F(TheCensus, ThatCouldReadHalfOfTheKernelsIsAnError) {
  Image cut = two;
  cut.resize(100);
  write(folder_ / "libone.so", library_of(fatbin_of({{.cubin = one}, {.cubin = cut}})));
  EXPECT_THAT(taken().error().what, HasSubstr("of 2 cubins of the libraries cannot be read"));
}

TEST_F(TheCensus, OfALibraryThatIsGoneIsAnError) {
  write(folder_ / "libone.so", library_of(fatbin_of({{.cubin = one}})));
  const auto libraries = libraries_in({folder_.string()});
  fs::remove(folder_ / "libone.so");
  EXPECT_THAT(take_census(libraries, 90).error().what, HasSubstr("libone.so"));
}

TEST_F(TheCensus, LibrariesAreFilesWithASectionForFatBinaries) {
  const Image fatbin = fatbin_of({{.cubin = one}});
  write(folder_ / "libone.so", library_of(fatbin));
  fs::create_symlink("libone.so", folder_ / "libone.so.1");
  fs::create_symlink("libnone.so", folder_ / "libgone.so");
  fs::create_directory(folder_ / "libfolder.so");
  write(folder_ / "libtext.so", library_of(fatbin, ".text"));
  write(folder_ / "libshort.so", Image(10));
  write(folder_ / "one.cubin", library_of(fatbin));
  const auto found = libraries_in({folder_.string(), (folder_ / "none").string(), folder_.string()});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().path.filename(), "libone.so");
  EXPECT_EQ(found.front().bytes, library_of(fatbin).size());
}

TEST_F(TheCensus, AHostileLibraryIsRead) {
  const Image library = library_of(fatbin_of({{.cubin = one}}));
  for (std::size_t at = 0; at < sizeof(Elf64_Ehdr); ++at) {
    Image changed = library;
    changed[at] ^= 0xFF;
    write(folder_ / "libone.so", changed);
    (void)taken();
  }
  for (std::size_t bytes = 0; bytes < library.size(); bytes += 7) {
    write(folder_ / "libone.so", {library.begin(), library.begin() + static_cast<std::ptrdiff_t>(bytes)});
    (void)taken();
  }
}

}  // namespace
}  // namespace kw::census
