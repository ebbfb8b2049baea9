// The file in which a census is kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "base/core/files.h"
#include "library.h"
#include "verify/census/census_file.h"

namespace kw::census {
namespace {

namespace fs = std::filesystem;

class CensusCache : public ::testing::Test {
 protected:
  CensusCache() {
    fs::create_directories(folder_ / "lib");
    write(library_, library_of(fatbin_of({{.cubin = one}})));
  }
  ~CensusCache() override { fs::remove_all(folder_); }

  Census census() const {
    auto bytes = kept_or_made({(folder_ / "lib").string()}, 90, file_);
    EXPECT_TRUE(bytes);
    return bytes ? from_bytes(*bytes).value_or(Census()) : Census();
  }
  std::string kept() const { return read_file(file_).value_or(""); }

  const fs::path folder_ =
      fs::path(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const fs::path library_ = folder_ / "lib" / "libone.so";
  const fs::path file_ = folder_ / "cache" / "kernelwright" / "census.bin";
};

// A census of the same libraries with other keys shows where the census came from.
std::string another_of(const std::string& bytes) {
  constexpr std::size_t mark_bytes = 8, hash_bytes = 64;
  return to_bytes(Census({1, 2, 3}), bytes.substr(mark_bytes, hash_bytes));
}

TEST_F(CensusCache, KeepsWhatWasMade) {
  EXPECT_TRUE(census().has(key_of(one, "one")));
  ASSERT_TRUE(write_file(file_, another_of(kept())));
  EXPECT_EQ(census().keys(), (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST_F(CensusCache, IsMadeAnewForAChangedLibrary) {
  census();
  ASSERT_TRUE(write_file(file_, another_of(kept())));
  write(library_, library_of(fatbin_of({{.cubin = two}})));
  fs::last_write_time(library_, fs::file_time_type::clock::now() + std::chrono::seconds(5));
  EXPECT_EQ(census().keys(), (std::vector<std::uint64_t>{key_of(two, "two")}));
}

TEST_F(CensusCache, IsMadeAnewForAnAddedLibrary) {
  census();
  write(folder_ / "lib" / "libtwo.so", library_of(fatbin_of({{.cubin = two}})));
  EXPECT_EQ(census().keys().size(), 2U);
}

TEST_F(CensusCache, IsMadeAnewWhereTheFileIsDamaged) {
  census();
  const std::string good = kept();
  for (std::size_t at = 0; at < good.size(); at += 11) {
    std::string changed = another_of(good);
    changed[at] = static_cast<char>(changed[at] ^ 1);
    ASSERT_TRUE(write_file(file_, changed));
    EXPECT_TRUE(census().has(key_of(one, "one"))) << at;
    EXPECT_EQ(kept(), good);
  }
  for (std::size_t bytes = 0; bytes < good.size(); bytes += 13) {
    ASSERT_TRUE(write_file(file_, good.substr(0, bytes)));
    EXPECT_TRUE(census().has(key_of(one, "one"))) << bytes;
  }
}

TEST_F(CensusCache, NeedNotBeWritable) {
  write(folder_ / "cache", Image(1));
  EXPECT_TRUE(census().has(key_of(one, "one")));
  EXPECT_EQ(kept(), "");
}

TEST_F(CensusCache, HasAFileForEachInstallationAndKindOfGpu) {
  ::setenv("XDG_CACHE_HOME", "/cache", 1);
  const fs::path file = cache_file({"/a"}, 90);
  EXPECT_EQ(file.parent_path(), "/cache/kernelwright");
  EXPECT_NE(file, cache_file({"/b"}, 90));
  EXPECT_NE(file, cache_file({"/a"}, 100));
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  ::setenv("HOME", "/home/me", 1);
  EXPECT_EQ(cache_file({"/a"}, 90).parent_path(), "/home/me/.cache/kernelwright");
  ::unsetenv("XDG_CACHE_HOME");
  ::unsetenv("HOME");
  EXPECT_EQ(cache_file({"/a"}, 90), "");
}

}  // namespace
}  // namespace kw::census
