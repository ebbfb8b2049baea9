// The recording that seeds the fuzzer, and that tests of `kernelwright recording show` read.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/core/files.h"
#include "world.h"

namespace kw::recording {
namespace {

// After a change of the format: KW_WRITE_CORPUS=1 build/tests/recording_test --gtest_filter='Corpus.*'
TEST(Corpus, BeginsWithARecordingThatIsRight) {
  std::string file = KW_SOURCE_DIR "/tests/fuzz/corpus/fuzz_recording/small.kwr";
  if (std::getenv("KW_WRITE_CORPUS") != nullptr) ASSERT_TRUE(write_file(file, full_world().bytes()));
  auto bytes = read_file(file);
  ASSERT_TRUE(bytes);
  EXPECT_TRUE(View::of(*bytes));
  EXPECT_EQ(*bytes, full_world().bytes());
}

}  // namespace
}  // namespace kw::recording
