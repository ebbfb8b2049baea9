// Recordings from an H200, of the kernels sum_16384_1 and dot_1024 of bench/gpu/timing.py (verify
// --recordings): facts read from real ones, and a cut or changed copy is never accepted as a complete one.
#include <gtest/gtest.h>

#include <random>

#include "base/core/files.h"
#include "verify/recording/plan.h"
#include "verify/recording/recording.h"

namespace kw::recording {
namespace {

std::string captured(const std::string& name) {
  auto bytes = read_file(KW_SOURCE_DIR "/tests/verify/recording/captured/" + name + ".kwr");
  EXPECT_TRUE(bytes) << name;
  return bytes.value_or("");
}

class Captured : public testing::TestWithParam<std::string> {};

TEST_P(Captured, IsReadAndPlannedAsOneLaunch) {
  std::string bytes = captured(GetParam());
  auto view = View::of(bytes);
  ASSERT_TRUE(view) << view.error().what;
  Plan found = plan(**view);
  EXPECT_EQ(found.steps.size(), 1U);
  EXPECT_EQ(found.unjoined, 0U);
  EXPECT_FALSE(found.open);
}

TEST_P(Captured, IsShownAsReplayableWithItsMachine) {
  std::string bytes = captured(GetParam());
  auto view = View::of(bytes);
  ASSERT_TRUE(view);
  std::string text = shown(**view);
  EXPECT_NE(text.find("NVIDIA H200, compute capability 9.0"), std::string::npos) << text;
  EXPECT_NE(text.find("replayable: yes"), std::string::npos) << text;
}

TEST_P(Captured, IsRefusedWhereverItIsCut) {
  std::string bytes = captured(GetParam());
  for (std::size_t kept = 0; kept < bytes.size(); kept += 1 + bytes.size() / 97)
    EXPECT_FALSE(View::of(std::string_view(bytes).substr(0, kept))) << kept;
}

TEST_P(Captured, ChangedAnywhereItIsRefusedOrCanStillBeShown) {
  std::string bytes = captured(GetParam());
  std::mt19937 random(1);
  for (int i = 0; i < 400; ++i) {
    std::string changed = bytes;
    changed[random() % changed.size()] ^= static_cast<char>(1U << (random() % 8));
    if (auto view = View::of(changed)) EXPECT_FALSE(shown(**view).empty());
  }
}

INSTANTIATE_TEST_SUITE_P(OnAnH200, Captured, testing::Values("sum", "sum_again", "dot"));

}  // namespace
}  // namespace kw::recording
