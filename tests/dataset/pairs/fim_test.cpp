#include <gmock/gmock.h>

#include <set>

#include "dataset/pairs/pairs.h"
#include "dataset/units/row.h"
#include "world.h"

namespace kw::pairs {
namespace {

using corpus::Row;
using corpus::Unit;
using corpus::UnitKind;
using test::Source;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

Unit scale() {
  return test::unit_of(UnitKind::triton, "scale_kernel", test::scale_source());
}

std::vector<Row> rows_of(const Unit& unit, Rendering rendering = Rendering::psm) {
  return fim_rows(unit, {.rendering = rendering});
}

const Row* row_with(const std::vector<Row>& rows, std::string_view node, std::string_view rendering) {
  for (const Row& row : rows)
    if (row.hole->node == node && row.hole->rendering == rendering) return &row;
  return nullptr;
}

// The bytes of the file that a span covers: the region begins at byte 1,000.
std::string in_file(const Unit& unit, corpus::Span span) {
  return unit.region.substr(span.begin - unit.region_begin, span.end - span.begin);
}

TEST(FimRows, SignatureIsThePromptAndTheBodyIsTheCompletion) {
  auto rows = rows_of(scale());
  const Row* row = row_with(rows, "body", "plain");
  ASSERT_NE(row, nullptr);
  EXPECT_THAT(row->prompt, EndsWith("factor, BLOCK: tl.constexpr):\n"));
  EXPECT_EQ(row->prompt + row->completion, scale().text);
}

TEST(FimRows, ContextStandsBeforeTheSignature) {
  Unit unit = scale();
  unit.context = "import triton\nimport triton.language as tl\n";
  auto rows = rows_of(unit);
  EXPECT_THAT(rows[0].prompt, StartsWith("import triton\nimport triton.language as tl\n\n@triton.jit\n"));
}

TEST(FimRows, BodyOfOneLineIsKeptByteForByte) {
  auto unit = test::unit_of(UnitKind::triton, "f", {.text = "def f(x): return x + 1", .signature_end = ":"});
  auto rows = rows_of(unit);
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows[0].prompt, "def f(x):");
  EXPECT_EQ(rows[0].completion, " return x + 1");
}

TEST(FimRows, EmptyBodyGivesNoRow) {
  auto unit = test::unit_of(UnitKind::triton, "f", {.text = "def f(x):\n"});
  FimTally tally;
  EXPECT_THAT(fim_rows(unit, {}, &tally), IsEmpty());
  EXPECT_EQ(tally.no_code, 1U);
}

TEST(FimRows, BodyWithADocstringAndACommentOnlyGivesNoRow) {
  Source source{.text = "def f(x):\n    \"\"\"Says what it would do.\"\"\"\n    # later\n    pass\n"};
  EXPECT_THAT(rows_of(test::unit_of(UnitKind::triton, "f", source)), IsEmpty());
}

TEST(FimRows, HolesOfAllKindsAreCut) {
  std::set<std::string> nodes;
  for (const Row& row : rows_of(scale())) nodes.insert(row.hole->node + " " + row.hole->rendering);
  EXPECT_THAT(nodes,
              testing::ElementsAre("block psm", "body plain", "body psm", "call psm", "expression psm"));
}

TEST(FimRows, PrefixSuffixMiddle) {
  Unit unit = scale();
  auto rows = rows_of(unit);
  const Row* row = row_with(rows, "block", "psm");
  ASSERT_NE(row, nullptr);
  std::string prefix = in_file(unit, {row->hole->region.begin, row->hole->middle.begin});
  std::string suffix = in_file(unit, {row->hole->middle.end, row->hole->region.end});
  EXPECT_EQ(row->prompt, "<|fim_prefix|>" + prefix + "<|fim_suffix|>" + suffix + "<|fim_middle|>");
  EXPECT_EQ(row->completion, in_file(unit, row->hole->middle));
}

TEST(FimRows, SuffixPrefixMiddle) {
  Unit unit = scale();
  auto rows = rows_of(unit, Rendering::spm);
  const Row* row = row_with(rows, "call", "spm");
  ASSERT_NE(row, nullptr);
  std::string prefix = in_file(unit, {row->hole->region.begin, row->hole->middle.begin});
  std::string suffix = in_file(unit, {row->hole->middle.end, row->hole->region.end});
  EXPECT_EQ(row->prompt, "<|fim_suffix|>" + suffix + "<|fim_prefix|>" + prefix + "<|fim_middle|>");
}

TEST(FimRows, BothRenderingsOfAHoleHaveOneMiddle) {
  auto rows = rows_of(scale(), Rendering::both);
  const Row* psm = row_with(rows, "expression", "psm");
  const Row* spm = row_with(rows, "expression", "spm");
  ASSERT_TRUE(psm != nullptr && spm != nullptr);
  EXPECT_EQ(psm->completion, spm->completion);
  EXPECT_NE(psm->id, spm->id);
}

TEST(FimRows, MixedTakesOneRenderingAHole) {
  auto mixed = rows_of(scale(), Rendering::mixed);
  EXPECT_EQ(mixed.size(), rows_of(scale(), Rendering::psm).size());
}

TEST(FimRows, TheSameSeedGivesTheSameRows) {
  FimOptions options{.seed = 7};
  auto first = fim_rows(scale(), options);
  auto second = fim_rows(scale(), options);
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].id, second[i].id);
}

TEST(FimRows, AnotherSeedChoosesOtherHoles) {
  std::set<std::string> calls;
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (const Row& row : fim_rows(scale(), {.seed = seed}))
      if (row.hole->node == "call") calls.insert(row.completion);
  EXPECT_GT(calls.size(), 1U);
}

TEST(FimRows, NoMiddleIsCutTwice) {
  std::set<std::pair<std::size_t, std::size_t>> middles;
  auto rows = fim_rows(scale(), {.rendering = Rendering::psm, .blocks = 9, .expressions = 9, .calls = 9});
  for (const Row& row : rows)
    if (row.hole->rendering == "psm")
      EXPECT_TRUE(middles.insert({row.hole->middle.begin, row.hole->middle.end}).second) << row.completion;
}

TEST(FimRows, ADocstringOrACommentIsNoMiddle) {
  auto rows = fim_rows(scale(), {.rendering = Rendering::psm, .blocks = 99, .expressions = 99, .calls = 99});
  for (const Row& row : rows) {
    EXPECT_NE(row.completion, "\"\"\"Multiplies by a factor.\"\"\"");
    EXPECT_THAT(row.completion, Not(StartsWith("# Lanes behind")));
  }
}

TEST(FimRows, ShortMiddlesAreLeftOut) {
  FimOptions options{.blocks = 99, .expressions = 99, .calls = 99, .least_middle_bytes = 40};
  for (const Row& row : fim_rows(scale(), options)) EXPECT_GE(row.completion.size(), 40U);
}

TEST(FimRows, RegionIsCutAtLinesWhereItIsTooLong) {
  Source source = test::scale_source();
  for (int i = 0; i < 200; ++i) {
    source.before += "before = " + std::to_string(i) + "\n";
    source.after += "behind = " + std::to_string(i) + "\n";
  }
  Unit unit = test::unit_of(UnitKind::triton, "scale_kernel", source);
  FimOptions options{.rendering = Rendering::psm, .longest_row_bytes = 900};
  auto rows = fim_rows(unit, options);
  ASSERT_GT(rows.size(), 2U);
  for (const Row& row : rows) {
    EXPECT_LE(row.prompt.size() + row.completion.size(), 900U);
    if (row.hole->region.begin > unit.region_begin)
      EXPECT_EQ(in_file(unit, {row.hole->region.begin - 1, row.hole->region.begin}), "\n");
    EXPECT_THAT(in_file(unit, row.hole->region), EndsWith("\n"));
  }
}

TEST(FimRows, AMiddleThatDoesNotFitIsLeftOutAndCounted) {
  FimTally tally;
  EXPECT_THAT(fim_rows(scale(), {.longest_row_bytes = 50}, &tally), IsEmpty());
  EXPECT_GT(tally.too_long, 1U);
}

TEST(FimRows, TextWithSpecialTokensIsLeftOutAndCounted) {
  Source source = test::scale_source();
  source.text += "    marker = \"<|fim_middle|>\" + tl.constexpr(1)\n";
  FimTally tally;
  EXPECT_THAT(fim_rows(test::unit_of(UnitKind::triton, "scale_kernel", source), {}, &tally), IsEmpty());
  EXPECT_EQ(tally.special_tokens, 5U);
  EXPECT_EQ(tally.rows, 0U);
}

TEST(FimRows, WindowsLineEndsStay) {
  Source source;
  source.text = "@triton.jit\r\ndef add(x, y):\r\n    z = tl.load(x + 1)\r\n    tl.store(y, z * z)\r\n";
  source.signature_end = ":\r\n";
  auto rows = rows_of(test::unit_of(UnitKind::triton, "add", source));
  ASSERT_GT(rows.size(), 2U);
  EXPECT_EQ(rows[0].completion, "    z = tl.load(x + 1)\r\n    tl.store(y, z * z)\r\n");
}

TEST(FimRows, LettersBeyondAsciiStayWhole) {
  Source source;
  source.text = "def größe(ä, ö):\n    ü = tl.load(ä + 1)\n    tl.store(ö, ü * 2)  # größer, 大きい\n";
  source.after = "# ende: größe\n";
  auto unit = test::unit_of(UnitKind::triton, "größe", source);
  for (const Row& row : fim_rows(unit, {.rendering = Rendering::both, .calls = 9}))
    EXPECT_THAT(row.prompt + row.completion, HasSubstr("ü"));
}

TEST(FimRows, DecoratorsWithLambdasBelongToThePrompt) {
  Source source;
  source.text =
      "@triton.heuristics({\"EVEN\": lambda args: args[\"n\"] % 2 == 0})\n@triton.jit\n"
      "def f(x, n, EVEN: tl.constexpr):\n    y = tl.load(x + n)\n    tl.store(x, y + 1)\n";
  source.signature_end = "EVEN: tl.constexpr):\n";
  auto rows = rows_of(test::unit_of(UnitKind::triton, "f", source));
  EXPECT_THAT(rows[0].prompt, HasSubstr("lambda args"));
  for (const Row& row : rows) EXPECT_THAT(row.completion, Not(HasSubstr("lambda")));
}

TEST(FimRows, NestedFunctionsStayInTheBody) {
  Source source;
  source.text =
      "def outer(x):\n    def inner(y):\n        return y * 2 + x\n    return inner(x) + inner(1)\n";
  auto unit = test::unit_of(UnitKind::triton, "outer", source);
  auto rows = rows_of(unit);
  EXPECT_EQ(rows[0].prompt + rows[0].completion, unit.text);
}

TEST(FimRows, CudaKernelsAreCutToo) {
  Source source{.before = "#include <cuda.h>\n",
                .text =
                    "__global__ void scale(float* x, int n) {\n  int i = threadIdx.x;\n"
                    "  if (i < n) { x[i] = __expf(x[i]) * 2.0f; }\n}",
                .after = "\n",
                .signature_end = "int n) "};
  auto rows = rows_of(test::unit_of(UnitKind::cuda_kernel, "scale", source));
  ASSERT_GT(rows.size(), 2U);
  EXPECT_EQ(rows[0].prompt, "__global__ void scale(float* x, int n) ");
}

TEST(FimRows, ReferencesGiveNone) {
  EXPECT_THAT(rows_of(test::unit_of(UnitKind::torch, "f", test::scale_source())), IsEmpty());
}

TEST(FimRows, ARegionOfOtherBytesGivesTheBodyOnly) {
  Unit unit = scale();
  unit.region[200] = '#';
  FimTally tally;
  EXPECT_EQ(fim_rows(unit, {}, &tally).size(), 1U);
  EXPECT_EQ(tally.torn, 1U);
}

TEST(FimRows, RowsSayWhereTheyComeFrom) {
  Unit unit = scale();
  for (const Row& row : rows_of(unit)) {
    EXPECT_EQ(row.unit, unit.id);
    EXPECT_EQ(row.licence.spdx, "MIT");
    EXPECT_EQ(row.source.path, "world.py");
    EXPECT_EQ(row.id, corpus::row_key(row.prompt, row.completion));
    EXPECT_EQ(row.renamed_sha1.size(), 40U);
  }
}

}  // namespace
}  // namespace kw::pairs
