#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>

#include "base/core/files.h"
#include "dataset/pairs/pairs.h"

namespace kw::pairs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class JudgedPairs : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(testing::TempDir()) / (std::string("kw_judged_") + info->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<std::vector<corpus::Row>> read(const std::string& text) {
    EXPECT_TRUE(write_file(folder_ / "pairs.jsonl", text).has_value());
    return judged_pairs(judged_pairs_file(folder_.string()));
  }

  std::filesystem::path folder_;
};

std::string line(int number, const std::string& counts) {
  return R"({"id": "synth-0-)" + std::to_string(number) + R"(", "number": )" + std::to_string(number) +
         R"(, "licence": "Apache-2.0", "triton_licence": "BSD-3-Clause", "reference_code": "def f(x): pass", )"
         R"("kernel_code": "def triton_kernel_wrapper(x): pass  # )" +
         std::to_string(number) + R"(", "verdict": {"correctness": true, "counts": )" + counts +
         R"(, "trust": "interpreter"}})" + "\n";
}

TEST_F(JudgedPairs, ALineIsARowWithItsVerdict) {
  auto rows = read(line(3, "true"));
  ASSERT_TRUE(rows.has_value()) << rows.error().what;
  ASSERT_THAT(*rows, SizeIs(1));
  const corpus::Row& row = rows->front();
  EXPECT_EQ(row.kind, corpus::RowKind::torch2triton);
  EXPECT_THAT(row.prompt, HasSubstr("```python\ndef f(x): pass\n```"));
  EXPECT_EQ(row.completion, "def triton_kernel_wrapper(x): pass  # 3");
  EXPECT_EQ(row.licence.spdx, "Apache-2.0");
  EXPECT_EQ(row.pair->other_licence.spdx, "BSD-3-Clause");
  EXPECT_THAT(row.pair->reasons, ElementsAre("verified: correct, interpreter"));
  EXPECT_EQ(row.verdict.at("trust").as_string(), "interpreter");
}

TEST_F(JudgedPairs, ARowStatesAtWhichShapesItsKernelIsRight) {
  for (const auto& [shapes, words] : {std::pair("any", "right at other shapes too"),
                                      std::pair("given_only", "right at the shapes of get_inputs only"),
                                      std::pair("unknown", "no other shape could be tried")}) {
    std::string text = line(3, "true");
    text.insert(text.find("\"trust\""), fmt::format(R"("shapes": "{}", )", shapes));
    auto rows = read(text);
    ASSERT_TRUE(rows.has_value()) << rows.error().what;
    EXPECT_THAT(rows->front().pair->reasons, ElementsAre("verified: correct, interpreter", words));
  }
}

// The body of a kernel as a JSON string holds it, and a launcher that reads a shape.
std::string line_with_kernel(const std::string& body) {
  std::string text = line(3, "true");
  const std::string plain = "def triton_kernel_wrapper(x): pass  # 3";
  text.replace(
      text.find(plain), plain.size(),
      R"(import triton\nimport triton.language as tl\n\n@triton.jit\ndef kernel(x, out, n):\n)"
      R"(    at = tl.arange(0, 16)\n    )" +
          body +
          R"(\n\n\ndef triton_kernel_wrapper(x):\n    kernel[(1,)](x, x, x.shape[0])\n    return x\n)");
  return text;
}

TEST_F(JudgedPairs, ARowHasTheLabelsOfItsKernels) {
  auto rows = read(line_with_kernel("tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)"));
  ASSERT_TRUE(rows.has_value()) << rows.error().what;
  const corpus::Labels& labels = rows->front().labels;
  EXPECT_TRUE(labels.masked_loads);
  EXPECT_TRUE(labels.clear_argument_shapes);
  EXPECT_FALSE(labels.atomics);
  EXPECT_EQ(labels.compile, corpus::CompileLabel::compilable);
}

TEST_F(JudgedPairs, AtomicsOfAKernelAreALabelOfTheRow) {
  auto rows = read(line_with_kernel("tl.atomic_add(out + at, tl.load(x + at))"));
  ASSERT_TRUE(rows.has_value()) << rows.error().what;
  EXPECT_TRUE(rows->front().labels.atomics);
  EXPECT_FALSE(rows->front().labels.masked_loads);
}

std::string cuda_line(bool verified) {
  std::string text = line(3, "true");
  text.replace(
      text.find("\"kernel_code\""), 0,
      std::string(R"("origin": "synthetic", "cuda_code": "__global__ void f() {}", "cuda_verified": )") +
          (verified ? "true, " : "false, "));
  return text;
}

TEST_F(JudgedPairs, ALineWithACudaSideIsACudaRow) {
  auto rows = read(cuda_line(true));
  ASSERT_TRUE(rows.has_value()) << rows.error().what;
  const corpus::Row& row = rows->front();
  EXPECT_EQ(row.kind, corpus::RowKind::cu2triton);
  EXPECT_EQ(row.prompt, cuda_prompt("__global__ void f() {}"));
  EXPECT_THAT(row.completion, HasSubstr("triton_kernel_wrapper"));
  EXPECT_EQ(row.pair->confidence, 1);
  EXPECT_THAT(row.pair->reasons,
              ElementsAre("verified: correct, interpreter", "CUDA side verified: correct", "synthetic"));
}

TEST_F(JudgedPairs, ACudaSideThatNoGpuRanIsLessCertain) {
  auto rows = read(cuda_line(false));
  ASSERT_TRUE(rows.has_value()) << rows.error().what;
  const corpus::Row& row = rows->front();
  EXPECT_LT(row.pair->confidence, 1);
  EXPECT_EQ(row.pair->reasons.at(1), "CUDA side not run");
  EXPECT_FALSE(row.verdict.at("cuda_verified").as_bool());
}

const std::string place = R"({"kind": "wheel", "name": "pack", "version": "1.2", "path": "pack/double.py", )"
                          R"("span": [0, 90]})";

TEST_F(JudgedPairs, ARowNamesThePackageOfItsKernel) {
  std::string text = line(3, "true");
  text.insert(text.find("\"kernel_code\""),
              R"("origin": "pack 1.2: pack/double.py", "triton_source": )" + place + ", ");
  auto rows = read(text);
  ASSERT_TRUE(rows.has_value()) << rows.error().what;
  const corpus::Row& row = rows->front();
  EXPECT_EQ(row.pair->other.origin.name + " " + row.pair->other.origin.version, "pack 1.2");
  EXPECT_EQ(row.pair->other.path, "pack/double.py");
  EXPECT_EQ(row.source.origin.kind, corpus::OriginKind::pairs);
  EXPECT_EQ(row.pair->reasons.back(), "pack 1.2: pack/double.py");
}

TEST_F(JudgedPairs, ARowNamesTheSourceOfItsCudaSide) {
  std::string text = cuda_line(false);
  text.insert(text.find("\"kernel_code\""), R"("cuda_source": )" + place + ", ");
  auto rows = read(text);
  ASSERT_TRUE(rows.has_value()) << rows.error().what;
  EXPECT_EQ(rows->front().source.origin.name, "pack");
  EXPECT_EQ(rows->front().pair->other.origin.kind, corpus::OriginKind::pairs);
  EXPECT_EQ(rows->front().pair->reasons.back(), "pair synth-0-3");
}

TEST_F(JudgedPairs, RowsAreInTheOrderOfTheirNumbers) {
  auto rows = read(line(10, "true") + line(9, "true"));
  ASSERT_TRUE(rows.has_value()) << rows.error().what;
  ASSERT_THAT(*rows, SizeIs(2));
  EXPECT_EQ(rows->front().source.path, "synth-0-9");
}

TEST_F(JudgedPairs, ALineThatDoesNotCountIsAnError) {
  auto rows = read(line(3, "false"));
  ASSERT_FALSE(rows.has_value());
  EXPECT_THAT(rows.error().what, HasSubstr("synth-0-3"));
}

TEST_F(JudgedPairs, AFolderWithoutTheFileHasNone) {
  EXPECT_TRUE(judged_pairs_file(folder_.string()).empty());
}

}  // namespace
}  // namespace kw::pairs
