#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <thread>

#include "world.h"

namespace kw::leak {
namespace {

using testing::Each;
using testing::Field;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const Index& index() {
  static const Index index(benchmark());
  return index;
}

std::vector<corpus::Leak> check(const std::string& text) {
  return index().check(text, "completion");
}

bool is_gelu(const corpus::Leak& leak) {
  return leak.row == "1_gelu.py";
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

// The class of the problem with every own name replaced.
std::string renamed_class() {
  return R"(class Net(nn.Module):
    def __init__(this, width, height, bend):
        super(Net, this).__init__()
        this.proj = nn.Linear(width, height)
        this.bend = bend

    def forward(this, inp: torch.Tensor) -> torch.Tensor:
        inp = this.proj(inp)
        factor = torch.sigmoid(inp * this.bend)
        inp = torch.nn.functional.gelu(inp, approximate='tanh') * factor
        inp = torch.sum(torch.abs(inp), dim=1, keepdim=True) / inp.shape[-1]
        return inp
)";
}

// Another layout, other brackets and quotes, no comments; equal names.
std::string reformatted() {
  return R"(import torch
from torch import nn
class Model(nn.Module):
    def __init__(
        self,
        in_features,
        out_features,
        slope,
    ):
        super(Model, self).__init__()
        self.linear = (
            nn.Linear(
                in_features,
                out_features,
            )
        )
        self.slope = slope
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.linear(x)
        gate = (torch.sigmoid(x * self.slope))
        x = torch.nn.functional.gelu(x, approximate="tanh",) * gate
        x = (torch.sum(torch.abs(x), dim=1, keepdim=True) / x.shape[-1])
        return x
)";
}

const char* const kernel = R"(import triton
import triton.language as tl

@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    total = tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, total, mask=mask)
)";

TEST(Index, FindsAnExactCopyFirst) {
  auto leaks = check(gelu());
  ASSERT_THAT(leaks, Not(IsEmpty()));
  EXPECT_TRUE(is_gelu(leaks[0]));
  EXPECT_EQ(leaks[0].against, "Bench");
  EXPECT_EQ(leaks[0].field, "completion");
  EXPECT_DOUBLE_EQ(leaks[0].jaccard, 1);
  EXPECT_DOUBLE_EQ(leaks[0].containment, 1);
  EXPECT_FALSE(leaks[0].renamed);
}

TEST(Index, FindsACopyUnderOtherNames) {
  auto leaks = check(renamed_class());
  ASSERT_THAT(leaks, Not(IsEmpty()));
  EXPECT_TRUE(is_gelu(leaks[0]));
  EXPECT_TRUE(leaks[0].renamed);
}

TEST(Index, FindsACopyWhoseModulesHaveOtherNames) {
  auto leaks = check(replaced(replaced(renamed_class(), "torch.", "th."), "(nn.", "(layers."));
  ASSERT_THAT(leaks, Not(IsEmpty()));
  EXPECT_TRUE(is_gelu(leaks[0]));
}

TEST(Index, FindsACopyInAnotherLayout) {
  auto leaks = check(reformatted());
  ASSERT_THAT(leaks, Not(IsEmpty()));
  EXPECT_TRUE(is_gelu(leaks[0]));
  EXPECT_FALSE(leaks[0].renamed);
}

TEST(Index, FindsACopyWithOtherLineEnds) {
  auto leaks = check(replaced(gelu(), "\n", "\r\n"));
  ASSERT_THAT(leaks, Not(IsEmpty()));
  EXPECT_DOUBLE_EQ(leaks[0].containment, 1);
}

TEST(Index, FindsACopyWithAnotherConstant) {
  auto leaks = check(replaced(renamed_class(), "dim=1", "dim=2"));
  ASSERT_THAT(leaks, Not(IsEmpty()));
  EXPECT_TRUE(is_gelu(leaks[0]));
}

TEST(Index, FindsAPartWithinAConversation) {
  std::string code = gelu();
  std::string text = "Don't explain. Here's what's slow:\n\n```python\n" +
                     code.substr(code.find("    def forward")) + "\n```\nThanks\n";
  auto leaks = check(text);
  ASSERT_THAT(leaks, Not(IsEmpty()));
  EXPECT_TRUE(is_gelu(leaks[0]));
}

TEST(Index, FindsACopyBehindADocstringThatWasCutOpen) {
  auto leaks = check("    of the sum, as above.\n    \"\"\"\n" + renamed_class());
  ASSERT_THAT(leaks, Not(IsEmpty()));
  EXPECT_TRUE(is_gelu(leaks[0]));
}

TEST(Index, SpansSayWhereTheCopyIs) {
  std::string before(kernel);
  auto leaks = check(before + renamed_class() + kernel);
  ASSERT_THAT(leaks, Not(IsEmpty()));
  ASSERT_THAT(leaks[0].spans, Not(IsEmpty()));
  EXPECT_GE(leaks[0].spans.front().begin, before.size());
  EXPECT_LE(leaks[0].spans.back().end, before.size() + renamed_class().size() + 8);
  EXPECT_LT(leaks[0].spans.front().begin, leaks[0].spans.front().end);
}

TEST(Index, SharesOfTheFrameAreNoCopy) {
  EXPECT_THAT(check(problem("Applies a layer and its own logarithm of a cosine.",
                            "x = x - torch.logsumexp(torch.cosh(x), 0)", 77)),
              IsEmpty());
}

TEST(Index, AnUnrelatedKernelIsNoCopy) {
  EXPECT_THAT(check(kernel), IsEmpty());
}

TEST(Index, AListOfParametersIsNoCopy) {
  Index one({{"Bench", "a.py",
              "def f(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, d: torch.Tensor, e: torch.Tensor, "
              "g: torch.Tensor):\n    return torch.dot(a, b) + torch.outer(c, d) - e @ g\n"}});
  EXPECT_THAT(
      one.check(
          "def step(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, o: torch.Tensor, lse: torch.Tensor, "
          "delta: torch.Tensor):\n    pass\n",
          ""),
      IsEmpty());
}

TEST(Index, AnEmptyTextIsNoCopy) {
  EXPECT_THAT(check(""), IsEmpty());
}

TEST(Index, WithoutReferencesNothingIsACopy) {
  Index empty({});
  EXPECT_EQ(empty.size(), 0U);
  EXPECT_THAT(empty.check(gelu(), ""), IsEmpty());
}

TEST(Index, ATextThatCameInSeveralWaysIsStillFound) {
  std::vector<Reference> references;
  for (const char* row : {"a.py", "a.json", "b.json", "c.json", "d.json"})
    references.push_back({"Bench", row, gelu()});
  EXPECT_THAT(Index(references).check(gelu(), ""), SizeIs(5));
}

TEST(Index, OneBenchmarksFrameIsWeighedAgainstItselfAlone) {
  std::vector<Reference> references = benchmark();
  for (int i = 0; i < 400; ++i)
    references.push_back({"Other", std::to_string(i), fmt::format("x_{0} = {0}\n", i)});
  Index mixed(references);
  EXPECT_THAT(mixed.check(problem("Applies a layer and its own logarithm of a cosine.",
                                  "x = x - torch.logsumexp(torch.cosh(x), 0)", 77),
                          ""),
              IsEmpty());
}

TEST(Index, ProseIsFoundAsItIsWritten) {
  std::string task =
      "Write a wrapper that multiplies two batched matrices, normalises the rows by their root mean square, "
      "applies "
      "dropout with the given probability and subtracts the third tensor, which must be broadcastable to the "
      "shape.";
  Index prose({{"Bench", "1", task}});
  EXPECT_THAT(prose.check("You are an expert. " + task + " Answer in one block.", "prompt"), SizeIs(1));
}

TEST(Index, ACopyAcrossAChunksEndIsFound) {
  std::string filler;
  for (int i = 0; filler.size() < (std::size_t{1} << 20) - 300; ++i)
    filler += fmt::format("v{} = {}\n", i, i);
  auto leaks = check(filler + renamed_class() + filler);
  ASSERT_THAT(leaks, Not(IsEmpty()));
  EXPECT_TRUE(is_gelu(leaks[0]));
  EXPECT_GE(leaks[0].spans.front().begin, filler.size());
}

TEST(Index, MegabytesOfOneTokenMatchNothingInLinearTime) {
  Index index(
      {{"Bench", "row", std::string(20'000, '(') + gelu()}, {"Bench", "same", std::string(4000, '[')}});
  for (const char* piece : {"[", "x ", "torch.sum(x) ", "\"\"\"", "'", "```\n", "a=", "(", "\n", "#"}) {
    std::string text;
    while (text.size() < (std::size_t{2} << 20)) text += piece;
    const auto started = std::chrono::steady_clock::now();
    EXPECT_TRUE(index.check(text, "").empty()) << piece;
    EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(30)) << piece;
  }
}

TEST(Index, BytesThatAreNoTextMatchNothing) {
  std::string bytes;
  for (int i = 0; i < 100'000; ++i) bytes += static_cast<char>((i * 7919) >> 3);
  EXPECT_TRUE(check(bytes).empty());
  EXPECT_TRUE(check(std::string(1000, '\0')).empty());
  EXPECT_TRUE(check("\"\"\"" + bytes).empty());
}

TEST(Index, ThreadsGetTheSameAnswers) {
  std::string text = renamed_class() + gelu();
  std::vector<std::string> rows(4);
  std::vector<std::jthread> threads;
  for (std::string& row : rows)
    threads.emplace_back([&] {
      for (const corpus::Leak& leak : check(text)) row += leak.row + fmt::format("{}", leak.containment);
    });
  threads.clear();
  EXPECT_THAT(rows, Each(rows[0]));
}

TEST(WordJaccard, CountsEachWordOnce) {
  EXPECT_DOUBLE_EQ(word_jaccard("a b b c", "b, c. d!"), 0.5);
}

TEST(WordJaccard, IsNothingWithoutWords) {
  EXPECT_EQ(word_jaccard("...", "..."), 0);
}

}  // namespace
}  // namespace kw::leak
