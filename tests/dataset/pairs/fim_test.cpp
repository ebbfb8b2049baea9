#include <gmock/gmock.h>

#include <set>

#include "dataset/pairs/pairs.h"
#include "dataset/pairs/row_code.h"
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
  return fim_rows(unit, {.rendering = rendering}).rows;
}

std::uint64_t left_out(const FimRows& made, std::string_view why) {
  auto found = made.left_out.find(std::string(why));
  return found == made.left_out.end() ? 0 : found->second;
}

// The code that a row of a hole shows, put together.
std::string whole(const Row& row) {
  auto parts = parse_fim_prompt(row.prompt);
  if (!parts) return row.prompt + row.completion;
  return std::string(parts->prefix) + row.completion + std::string(parts->suffix);
}

// A kernel of many statements, each with another text.
Source long_source() {
  Source source{.text = "@triton.jit\ndef long_kernel(x_ptr, y_ptr, n):\n"};
  for (int i = 0; i < 120; ++i) {
    const std::string n = std::to_string(i);
    source.text += "    value_" + n + " = tl.load(x_ptr + " + n + ", mask=n > " + n + ", other=0.0)\n";
  }
  return source;
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

TEST(FimRows, ABlockOfOneCallGivesOneRow) {
  auto rows =
      rows_of(test::unit_of(UnitKind::triton, "kernel",
                            {.text = "@triton.jit\ndef kernel(x_ptr, n):\n    if n > 0:\n"
                                     "        tl.store(x_ptr + n * 128 + 17, tl.load(x_ptr + n))\n"}));
  EXPECT_NE(row_with(rows, "block", "psm"), nullptr);
  EXPECT_EQ(row_with(rows, "call", "psm"), nullptr);
}

TEST(FimRows, ContextStandsBeforeTheSignature) {
  Unit unit = scale();
  unit.context = "import triton\nimport triton.language as tl\n";
  auto rows = rows_of(unit);
  EXPECT_THAT(rows[0].prompt, StartsWith("import triton\nimport triton.language as tl\n\n@triton.jit\n"));
}

TEST(FimRows, BodyOfOneLineIsKeptByteForByte) {
  auto unit =
      test::unit_of(UnitKind::triton, "f",
                    {.text = "def f(x): return first(x) + second(x) * third(x)", .signature_end = ":"});
  unit.context = "from parts import first, second, third\n";
  auto rows = rows_of(unit);
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows[0].prompt, "from parts import first, second, third\n\ndef f(x):");
  EXPECT_EQ(rows[0].completion, " return first(x) + second(x) * third(x)");
}

TEST(FimRows, AFunctionWithoutBodyGivesNoRow) {
  auto unit = test::unit_of(UnitKind::triton, "f", {.text = "def f(x):\n"});
  FimRows made = fim_rows(unit, {});
  EXPECT_THAT(made.rows, IsEmpty());
  EXPECT_EQ(left_out(made, no_code), 1U);
}

TEST(FimRows, BodyWithADocstringAndACommentOnlyGivesNoRow) {
  Source source{.text = "def f(x):\n    \"\"\"Says what it would do.\"\"\"\n    # later\n    pass\n"};
  EXPECT_THAT(rows_of(test::unit_of(UnitKind::triton, "f", source)), IsEmpty());
}

TEST(FimRows, HolesOfAllKindsAreCut) {
  std::set<std::string> nodes;
  for (const Row& row : rows_of(scale())) nodes.insert(row.hole->node + " " + row.hole->rendering);
  EXPECT_THAT(nodes, testing::ElementsAre("block psm", "body plain", "call psm", "expression psm"));
}

TEST(FimRows, PrefixSuffixMiddle) {
  Unit unit = scale();
  auto rows = rows_of(unit);
  const Row* row = row_with(rows, "block", "psm");
  ASSERT_NE(row, nullptr);
  EXPECT_THAT(row->prompt, StartsWith("<|fim_prefix|>@triton.jit\n"));
  EXPECT_THAT(row->prompt, EndsWith("<|fim_middle|>"));
  EXPECT_EQ(whole(*row), unit.text);
  EXPECT_EQ(row->completion, in_file(unit, row->hole->middle));
}

TEST(FimRows, SuffixPrefixMiddle) {
  Unit unit = scale();
  auto rows = rows_of(unit, Rendering::spm);
  const Row* row = row_with(rows, "call", "spm");
  ASSERT_NE(row, nullptr);
  EXPECT_THAT(row->prompt, StartsWith("<|fim_suffix|>"));
  EXPECT_EQ(whole(*row), unit.text);
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
  ASSERT_EQ(first.rows.size(), second.rows.size());
  for (std::size_t i = 0; i < first.rows.size(); ++i) EXPECT_EQ(first.rows[i].id, second.rows[i].id);
}

TEST(FimRows, AnotherSeedChoosesOtherHoles) {
  std::set<std::string> expressions;
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (const Row& row : fim_rows(scale(), {.seed = seed}).rows)
      if (row.hole->node == "expression") expressions.insert(row.completion);
  EXPECT_GT(expressions.size(), 1U);
}

TEST(FimRows, NoMiddleIsCutTwice) {
  std::set<std::pair<std::size_t, std::size_t>> middles;
  auto rows =
      fim_rows(scale(), {.rendering = Rendering::psm, .blocks = 9, .expressions = 9, .calls = 9}).rows;
  for (const Row& row : rows)
    if (row.hole->rendering == "psm")
      EXPECT_TRUE(middles.insert({row.hole->middle.begin, row.hole->middle.end}).second) << row.completion;
}

TEST(FimRows, ADocstringOrACommentIsNoMiddle) {
  auto rows =
      fim_rows(scale(), {.rendering = Rendering::psm, .blocks = 99, .expressions = 99, .calls = 99}).rows;
  for (const Row& row : rows) {
    EXPECT_NE(row.completion, "\"\"\"Multiplies by a factor.\"\"\"");
    EXPECT_THAT(row.completion, Not(StartsWith("# Lanes behind")));
  }
}

TEST(FimRows, ShortCompletionsAreLeftOut) {
  FimOptions options{.blocks = 99, .expressions = 99, .calls = 99, .shortest_completion = 44};
  auto rows = fim_rows(scale(), options).rows;
  ASSERT_GT(rows.size(), 2U);
  for (const Row& row : rows) EXPECT_GE(row.completion.size(), 44U);
}

TEST(FimRows, AHoleWhoseTextTheKernelHasTwiceIsLeftOut) {
  Source source = test::scale_source();
  source.text += "    tl.store(y_ptr + offsets, x * factor, mask=offsets < n)\n";
  auto unit = test::unit_of(UnitKind::triton, "scale_kernel", source);
  for (const Row& row : fim_rows(unit, {.blocks = 99, .expressions = 99, .calls = 99}).rows)
    EXPECT_NE(row.completion, "tl.store(y_ptr + offsets, x * factor, mask=offsets < n)");
}

TEST(FimRows, TheRarestHoleIsTaken) {
  Occurrences often;
  const std::string load = "tl.load(x_ptr + offsets, mask=offsets < n)";
  often[hole_key("tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)")] = 9;
  often[hole_key(load)] = 2;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    auto rows = fim_rows(scale(), {.seed = seed}, often).rows;
    const Row* row = row_with(rows, "expression", "psm");
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row->completion, load);
    EXPECT_EQ(row->difficulty.occurrences, 2U);
  }
}

TEST(FimRows, AHoleThatMoreThanFourFunctionsHaveIsLeftOutAndCounted) {
  Occurrences often;
  for (const Row& row : fim_rows(scale(), {.expressions = 99}).rows) often[hole_key(row.completion)] = 5;
  FimRows made = fim_rows(scale(), {.blocks = 0, .expressions = 1, .calls = 0}, often);
  EXPECT_THAT(made.rows, IsEmpty());
  EXPECT_EQ(left_out(made, common_hole), 2U);
  for (auto& [key, functions] : often) functions = 4;
  EXPECT_EQ(fim_rows(scale(), {.blocks = 0, .expressions = 1, .calls = 0}, often).rows.size(), 2U);
}

TEST(FimRows, AHoleThatIsMostlyProseIsLeftOut) {
  Source source = test::scale_source();
  source.text =
      "@triton.jit\ndef f(x_ptr, n, BLOCK: tl.constexpr):\n"
      "    \"\"\"Reads a value, of which much may be said, and which is then of no more use to "
      "anyone.\"\"\"\n"
      "    first = tl.load(x_ptr + n * BLOCK + 1)\n"
      "    # One of these lines is longer than what it is about, and so is this other one, which is why they "
      "go.\n"
      "    second = tl.load(x_ptr + n * BLOCK + 2)\n    third = tl.load(x_ptr + n * BLOCK + 3)\n"
      "    tl.store(x_ptr, first + second + third)\n";
  for (const Row& row : fim_rows(test::unit_of(UnitKind::triton, "f", source), {.blocks = 99}).rows)
    if (row.hole->node == "block") EXPECT_THAT(row.completion, Not(HasSubstr("Reads a value")));
}

TEST(HoleKey, WhiteSpaceIsNoDifference) {
  EXPECT_EQ(hole_key(" a  +\n\tb\n"), hole_key("a + b"));
  EXPECT_NE(hole_key("a + b"), hole_key("ab"));
}

TEST(FimRows, ContextIsTakenNearestFirst) {
  Unit unit = test::unit_of(UnitKind::triton, "long_kernel", long_source());
  unit.context = "import triton\nimport triton.language as tl\n";
  FimRows made = fim_rows(unit, {.max_tokens = 400});
  const Row* row = row_with(made.rows, "expression", "psm");
  ASSERT_NE(row, nullptr);
  EXPECT_THAT(row->prompt, HasSubstr("import triton.language as tl\n"));
  EXPECT_THAT(row->prompt, HasSubstr("def long_kernel(x_ptr, y_ptr, n):\n"));
  EXPECT_THAT(row->prompt, HasSubstr("    # ...\n"));
  EXPECT_THAT(whole(*row), HasSubstr("= " + row->completion));
  EXPECT_LT(row->prompt.size() + row->completion.size(), unit.text.size() / 2);
}

// A kernel that begins with a definition and ends with its use, far apart.
Source far_source() {
  Source source = long_source();
  source.text.insert(source.text.find(":\n") + 2, "    scale_of_all = tl.load(x_ptr + n * 7)\n");
  source.text += "    tl.store(y_ptr, tl.exp2(scale_of_all) * scale_of_all)\n";
  return source;
}

const Row* row_of(const std::vector<Row>& rows, std::string_view completion) {
  for (const Row& row : rows)
    if (row.completion == completion) return &row;
  return nullptr;
}

constexpr std::string_view far_call = "tl.store(y_ptr, tl.exp2(scale_of_all) * scale_of_all)";

TEST(FimRows, AStatementThatBindsANameOfTheHoleIsShownFirst) {
  Unit unit = test::unit_of(UnitKind::triton, "long_kernel", far_source());
  unit.context = "import triton\nimport triton.language as tl\n";
  FimRows made = fim_rows(unit, {.calls = 999, .max_tokens = 400});
  const Row* row = row_of(made.rows, far_call);
  ASSERT_NE(row, nullptr);
  EXPECT_THAT(row->prompt, HasSubstr("    scale_of_all = tl.load(x_ptr + n * 7)\n    # ...\n"));
}

TEST(FimRows, AHelperThatDoesNotFitIsShownByItsSignature) {
  Source source{.text = "@triton.jit\ndef f(x_ptr, n):\n    tl.store(x_ptr, helper(n, 1) + helper(n, 2))\n",
                .signature_end = "n):\n"};
  Unit unit = test::unit_of(UnitKind::triton, "f", source);
  unit.context = "import triton\nimport triton.language as tl\n\n@triton.jit\ndef helper(a, b: int = 1):\n";
  for (int i = 0; i < 200; ++i) unit.context += "    a = a * " + std::to_string(i) + " + b\n";
  unit.context += "    return a\n";
  FimRows made = fim_rows(unit, {.max_tokens = 300});
  ASSERT_FALSE(made.rows.empty());
  EXPECT_THAT(made.rows[0].prompt, HasSubstr("\n@triton.jit\ndef helper(a, b: int = 1):\n    ...\n"));
}

TEST(FimRows, ACompletionWithANameThatThePromptDoesNotHaveIsLeftOutAndCounted) {
  Source source{.text =
                    "@triton.jit\ndef f(x_ptr, n):\n    y = tl.load(x_ptr + n)  # helper\n"
                    "    tl.store(x_ptr, helper(n, y, n=n) + y.helper)\n",
                .signature_end = "n):\n"};
  Unit unit = test::unit_of(UnitKind::triton, "f", source);
  unit.context = "import triton\nimport triton.language as tl\n";
  FimRows made = fim_rows(unit, {.blocks = 9, .calls = 9});
  for (const Row& row : made.rows) EXPECT_THAT(row.completion, Not(HasSubstr("helper(")));
  EXPECT_GT(left_out(made, unknown_name), 0U);
}

TEST(FimRows, ANameThatTheCompletionBindsIsKnown) {
  Unit unit = scale();
  unit.context = "import triton\nimport triton.language as tl\n";
  EXPECT_EQ(left_out(fim_rows(unit, {}), unknown_name), 0U);
}

TEST(FimRows, ABodyLongerThanTheLimitIsLeftOutAndCounted) {
  Unit unit = test::unit_of(UnitKind::triton, "long_kernel", long_source());
  FimRows made = fim_rows(unit, {.max_tokens = 400});
  EXPECT_EQ(row_with(made.rows, "body", "plain"), nullptr);
  EXPECT_EQ(left_out(made, long_completion), 1U);
}

TEST(FimRows, AKernelThatIsIndentedInItsFileParsesAsARow) {
  Source source{
      .before = "if HAS:\n    ",
      .text =
          "@triton.jit\n    def f(x_ptr, n):\n        y = tl.load(x_ptr + n, mask=n > 4, other=0.0)\n"
          "        tl.store(x_ptr, y * y + 1.0, mask=n > 4)\n",
      .after = "",
      .signature_end = "n):\n"};
  Unit unit = test::unit_of(UnitKind::triton, "f", source);
  FimRows made = fim_rows(unit, {});
  EXPECT_THAT(made.left_out, IsEmpty());
  ASSERT_GT(made.rows.size(), 1U);
  EXPECT_EQ(made.rows[0].prompt, "@triton.jit\ndef f(x_ptr, n):\n");
  EXPECT_THAT(made.rows[0].completion, StartsWith("    y = tl.load("));
  for (const Row& row : made.rows)
    if (row.hole->node == "expression") EXPECT_EQ(in_file(unit, row.hole->middle), row.completion);
}

TEST(FimRows, DecoratorsThatNothingDefinesAreNotShown) {
  Source source = test::scale_source();
  source.text = "@libentry()\n" + source.text;
  Unit unit = test::unit_of(UnitKind::triton, "scale_kernel", source);
  for (const Row& row : rows_of(unit)) EXPECT_THAT(row.prompt, Not(HasSubstr("libentry")));
  unit.context = "import triton\nfrom runtime import libentry\n";
  EXPECT_THAT(rows_of(unit)[0].prompt,
              StartsWith("import triton\nfrom runtime import libentry\n\n@libentry()\n@triton.jit\n"));
}

TEST(FimRows, ABodyMayBeAHoleOrBoth) {
  auto hole = fim_rows(scale(), {.body = Body::fim}).rows;
  EXPECT_EQ(row_with(hole, "body", "plain"), nullptr);
  EXPECT_NE(row_with(hole, "body", "psm"), nullptr);
  auto both = fim_rows(scale(), {.body = Body::both}).rows;
  EXPECT_NE(row_with(both, "body", "plain"), nullptr);
  EXPECT_NE(row_with(both, "body", "psm"), nullptr);
}

TEST(FimRows, ABodyMayBeAnInstruction) {
  auto rows = fim_rows(scale(), {.body = Body::instruction}).rows;
  const Row* row = row_with(rows, "body", "instruction");
  ASSERT_NE(row, nullptr);
  EXPECT_THAT(row->prompt, StartsWith("Write the Triton kernel `scale_kernel`."));
  EXPECT_EQ(row->completion, scale().text);
}

TEST(FimRows, DifficultyCountsLinesAndOperations) {
  auto rows = rows_of(scale());
  EXPECT_EQ(rows[0].difficulty.lines, 4U);
  EXPECT_GT(rows[0].difficulty.tokens, 40U);
}

TEST(FimRows, DifficultyIsOfTheCodeAlone) {
  Source source{.text =
                    "@triton.jit\ndef f(x_ptr, n):\n    r\"\"\"An exp\n    of the sum.\n    \"\"\"\n"
                    "    # the max\n    tl.store(x_ptr, tl.ceil(tl.load(x_ptr + n)))\n",
                .signature_end = "n):\n"};
  auto rows = rows_of(test::unit_of(UnitKind::triton, "f", source));
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows[0].difficulty.lines, 1U);
  EXPECT_EQ(rows[0].difficulty.operations, 1U);  // rounding
}

TEST(FimRows, TextWithSpecialTokensIsLeftOutAndCounted) {
  Source source = test::scale_source();
  source.text += "    marker = \"<|fim_middle|>\" + tl.constexpr(1)\n";
  FimRows made = fim_rows(test::unit_of(UnitKind::triton, "scale_kernel", source), {});
  EXPECT_THAT(made.rows, IsEmpty());
  EXPECT_EQ(left_out(made, special_token), 1U);
}

TEST(FimRows, WindowsLineEndsStay) {
  Source source;
  source.text = "@triton.jit\r\ndef add(x, y):\r\n    z = tl.load(x + 1)\r\n    tl.store(y, z * z)\r\n";
  source.signature_end = ":\r\n";
  auto rows = rows_of(test::unit_of(UnitKind::triton, "add", source));
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows[0].completion, "    z = tl.load(x + 1)\r\n    tl.store(y, z * z)\r\n");
}

TEST(FimRows, LettersBeyondAsciiStayWhole) {
  Source source;
  source.text = "def größe(ä, ö):\n    ü = tl.load(ä + 1)\n    tl.store(ö, ü * 2)  # größer, 大きい\n";
  source.after = "# ende: größe\n";
  auto unit = test::unit_of(UnitKind::triton, "größe", source);
  for (const Row& row : fim_rows(unit, {.rendering = Rendering::both, .calls = 9}).rows)
    EXPECT_THAT(row.prompt + row.completion, HasSubstr("ü"));
}

TEST(FimRows, DecoratorsWithLambdasBelongToThePrompt) {
  Source source;
  source.text =
      "@triton.heuristics({\"EVEN\": lambda args: args[\"n\"] % 2 == 0})\n@triton.jit\n"
      "def f(x, n, EVEN: tl.constexpr):\n    y = tl.load(x + n)\n    tl.store(x, y + 1)\n";
  source.signature_end = "EVEN: tl.constexpr):\n";
  Unit unit = test::unit_of(UnitKind::triton, "f", source);
  unit.context = "import triton\n";
  auto rows = rows_of(unit);
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
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows[0].prompt, "__global__ void scale(float* x, int n) ");
}

TEST(FimRows, ReferencesGiveNone) {
  EXPECT_THAT(rows_of(test::unit_of(UnitKind::torch, "f", test::scale_source())), IsEmpty());
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
