#include "dataset/pairs/pairs.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/core/files.h"

namespace kw::pairs {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class HandMade : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(testing::TempDir()) / (std::string("kw_hand_made_") + info->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(write_file(folder_ / name, text).has_value());
  }
  Result<std::vector<corpus::Row>> read() { return hand_made_pairs(folder_.string() + "/"); }

  std::filesystem::path folder_;
};

TEST_F(HandMade, FilesOfOneNameAreAPair) {
  write("scale.cu", "__global__ void scale() {}\n");
  write("scale.py", "def scale(): pass\n");
  auto rows = read();
  ASSERT_TRUE(rows.has_value()) << rows.error().what;
  ASSERT_THAT(*rows, SizeIs(1));
  EXPECT_THAT((*rows)[0].prompt, HasSubstr("__global__ void scale() {}\n```\n"));
  EXPECT_EQ((*rows)[0].completion, "def scale(): pass\n");
  EXPECT_EQ((*rows)[0].pair->confidence, 1);
  EXPECT_THAT((*rows)[0].pair->reasons, testing::ElementsAre("made by hand"));
  EXPECT_EQ((*rows)[0].source.origin.kind, corpus::OriginKind::pairs);
  EXPECT_EQ((*rows)[0].source.origin.name, folder_.filename().string());
}

TEST_F(HandMade, ARowHasTheLabelsOfItsKernels) {
  write("scale.cu", "__global__ void scale() {}\n");
  write("scale.py",
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef scale(x, n):\n"
        "    at = tl.arange(0, 16)\n    tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)\n");
  auto rows = read();
  ASSERT_TRUE(rows.has_value()) << rows.error().what;
  EXPECT_TRUE((*rows)[0].labels.masked_loads);
  EXPECT_TRUE((*rows)[0].labels.self_contained);
  EXPECT_EQ((*rows)[0].labels.compile, corpus::CompileLabel::not_tried);
}

TEST_F(HandMade, EndingsOfTheNamesAreUnderstood) {
  write("scale_cuda.cu", "__global__ void scale() {}\n");
  write("scale_triton.py", "def scale(): pass\n");
  auto rows = read();
  ASSERT_TRUE(rows.has_value()) << rows.error().what;
  EXPECT_EQ((*rows)[0].pair->other.path, "scale_triton.py");
}

TEST_F(HandMade, LicenceAndSourceAreReadFromTheNote) {
  write("a.cu", "// kernel\n");
  write("a.py", "# kernel\n");
  write("a.json", R"({"licence": "MIT", "triton_licence": "Apache-2.0", "source": "https://example.org/a"})");
  auto rows = read();
  ASSERT_TRUE(rows.has_value()) << rows.error().what;
  EXPECT_EQ((*rows)[0].licence.spdx, "MIT");
  EXPECT_EQ((*rows)[0].licence.evidence, "a.json");
  EXPECT_EQ((*rows)[0].pair->other_licence.spdx, "Apache-2.0");
  EXPECT_EQ((*rows)[0].source.origin.url, "https://example.org/a");
}

TEST_F(HandMade, LicencesMayStandInOneTable) {
  write("a.cu", "// kernel\n");
  write("a.py", "# kernel\n");
  write("pairs.csv", "name,licence,source\na,BSD-3-Clause,https://example.org/a\n");
  auto rows = read();
  ASSERT_TRUE(rows.has_value()) << rows.error().what;
  EXPECT_EQ((*rows)[0].licence.spdx, "BSD-3-Clause");
  EXPECT_EQ((*rows)[0].pair->other_licence.evidence, "pairs.csv");
}

TEST_F(HandMade, AFilesOwnTagStatesItsLicence) {
  write("a.cu", "// SPDX-License-Identifier: MIT\n");
  write("a.py", "# kernel\n");
  auto rows = read();
  ASSERT_TRUE(rows.has_value()) << rows.error().what;
  EXPECT_EQ((*rows)[0].licence.spdx, "MIT");
  EXPECT_EQ((*rows)[0].pair->other_licence.spdx, "");
}

TEST_F(HandMade, AKernelWithoutItsRewriteIsAnError) {
  write("a.cu", "// kernel\n");
  auto rows = read();
  ASSERT_FALSE(rows.has_value());
  EXPECT_THAT(rows.error().what, HasSubstr("a.py"));
}

TEST_F(HandMade, AFolderWithoutPairsIsAnError) {
  EXPECT_THAT(read().error().what, HasSubstr("no .cu file"));
  EXPECT_FALSE(hand_made_pairs("/no/such/folder").has_value());
}

TEST_F(HandMade, BytesThatAreNoTextAreAnError) {
  write("a.cu", "\xff\xfe");
  write("a.py", "# kernel\n");
  EXPECT_FALSE(read().has_value());
}

TEST_F(HandMade, ANoteThatIsNoObjectIsAnError) {
  write("a.cu", "// kernel\n");
  write("a.py", "# kernel\n");
  write("a.json", "[1]");
  EXPECT_THAT(read().error().what, HasSubstr("a.json"));
}

}  // namespace
}  // namespace kw::pairs
