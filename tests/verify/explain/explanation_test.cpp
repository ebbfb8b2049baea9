// The parts of an explanation, and their layout.
#include "verify/explain/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "world.h"

namespace kw::explain {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Explanation, HasWhatALineOfALinterHas) {
  Explanation it = explain(failed(ErrorClass::out_of_bounds, Stage::run, "out-of-bounds load in double", 8),
                           {.candidate = code});
  EXPECT_EQ(it.level, Level::error);
  EXPECT_EQ(it.rule, "out_of_bounds");
  EXPECT_EQ(it.file, "kernel.py");
  EXPECT_EQ(it.line, 8U);
  ASSERT_TRUE(it.excerpt);
  EXPECT_EQ(columns_of(*it.excerpt).begin, 9U);
  EXPECT_EQ(columns_of(*it.excerpt).end, 16U);
  EXPECT_EQ(it.words.what, "A kernel reads or writes outside of its tensors.");
}
TEST(Explanation, LevelsFollowTheStatus) {
  EXPECT_EQ(level_of(Status::correct, true), Level::none);
  EXPECT_EQ(level_of(Status::correct, false), Level::warning);
  EXPECT_EQ(level_of(Status::incorrect, {}), Level::error);
  EXPECT_EQ(level_of(Status::skipped, {}), Level::note);
  EXPECT_EQ(level_of(Status::error, {}), Level::warning);
}
TEST(Explanation, TheMismatchIsWhatTheErrorDoesNotSay) {
  Verdict wrong = incorrect(ErrorClass::wrong_value,
                            "output: 3 of 12 values differ (25.0%); first at [0, 1]: expected 1.5, got 2.5");
  wrong.comparison->first_mismatch = FirstMismatch{"output", {0, 1}, 1.5, 2.5};
  wrong.comparison->mismatched_share = 0.25;
  wrong.comparison->max_rel_error = 0.667;
  Explanation it = explain(wrong, {});
  ASSERT_TRUE(it.mismatch);
  EXPECT_EQ(in_words(*it.mismatch), "Over all trials: largest relative error 0.667\n");
}
TEST(Explanation, StatesTheErrorInTheReferencesOwnUnit) {
  Verdict wrong = incorrect(ErrorClass::wrong_value, "differs");
  wrong.comparison->error_ratio = 1234.5;
  EXPECT_THAT(explain(wrong, {}).circumstances,
              HasSubstr("; largest error: 1.23e+03 times the reference's own"));
  wrong.comparison->error_ratio.reset();
  EXPECT_THAT(explain(wrong, {}).circumstances, Not(HasSubstr("largest error")));
}
TEST(Explanation, WithoutTheSourceThePlaceIsStillNamed) {
  Explanation it = explain(failed(ErrorClass::runtime_error, Stage::run, "it broke", 8), {});
  EXPECT_FALSE(it.excerpt);
  EXPECT_EQ(it.line, 8U);
  EXPECT_THAT(to_terminal(it, {}), HasSubstr("--> kernel.py:8\n"));
}
TEST(Explanation, HintsComeFromTheSource) {
  std::string unused = "import triton\n@triton.jit\ndef k(): pass\ndef triton_kernel_wrapper(x): return x\n";
  EXPECT_THAT(shown(incorrect(ErrorClass::wrong_value, "differs"), unused),
              HasSubstr("  note: line 3: the jitted function k is never used\n"));
}
TEST(Explanation, OfAModuleThatDoesNotParseTheTreeGivesNoHints) {
  std::string broken = "import triton\n@triton.jit\ndef k(:\n    pass\n";
  EXPECT_THAT(shown(failed(ErrorClass::syntax_error, Stage::parse, "SyntaxError: invalid syntax", 3), broken),
              Not(HasSubstr("note:")));
}

Launch launch(const std::string& name, std::optional<std::string> whose) {
  Launch launch;
  launch.name = name;
  launch.whose = std::move(whose);
  return launch;
}

TEST(Causes, OfALibraryResultAreItsLaunchesAndCalls) {
  Verdict right = does_not_count(CountsReason::library_only);
  right.launches = {launch("sgemm_128", "library"), launch("sgemm_128", "library"), launch("copy", {})};
  std::string text = shown(right,
                           "import torch\nimport torch.nn.functional as F\n"
                           "def triton_kernel_wrapper(x):\n"
                           "    y = torch.empty_like(x)\n"
                           "    return F.softmax(torch.matmul(x, x))\n");
  EXPECT_THAT(text,
              HasSubstr("  note: a call launches sgemm_128 (library, 2 times), copy (unknown origin)\n"));
  EXPECT_THAT(text,
              HasSubstr("  note: PyTorch may compute the result: line 5: F.softmax, line 5: torch.matmul\n"));
  EXPECT_THAT(text, HasSubstr("  note: the source has no @triton.jit function\n"));
}
TEST(Causes, OfADecoyAreTheLaunchesThatChangeNothing) {
  Verdict right = does_not_count(CountsReason::decoy);
  right.launches = {launch("double", "candidate")};
  EXPECT_THAT(shown(right), HasSubstr("  note: a call launches double (candidate)\n"));
}
TEST(Causes, OfAWrapperAreItsLaunchesAndCalls) {
  Verdict right = does_not_count(CountsReason::wraps_reference);
  right.launches = {launch("sgemm_128", "library"), launch("copy", "candidate")};
  const std::string text = shown(right, "import torch\ndef f(x):\n    return torch.matmul(x, x)\n");
  EXPECT_THAT(text, HasSubstr("  note: a call launches sgemm_128 (library), copy (candidate)\n"));
  EXPECT_THAT(text, HasSubstr("  note: PyTorch may compute the result: line 3: torch.matmul\n"));
}
TEST(Causes, OfNativeCodeWhereTritonIsRequiredAreItsLaunches) {
  Verdict right = does_not_count(CountsReason::not_triton);
  right.launches = {launch("mine", "unattested")};
  EXPECT_EQ(explain(right, {.candidate = "import torch\nx = torch.matmul(x, x)\n"}).causes,
            std::vector<std::string>{"a call launches mine (unattested)"});
}
TEST(Causes, AreNotOfATask) {
  EXPECT_TRUE(explain(does_not_count(CountsReason::proves_nothing), {.candidate = code}).causes.empty());
}

TEST(Printed, IsTheEndOfTheExplanation) {
  Verdict broke = failed(ErrorClass::process_died, Stage::run, "exited with code 3");
  broke.printed = "before\n\x1b[31mred\tend";
  EXPECT_THAT(shown(broke),
              HasSubstr("  It printed:\n    before\n    \xEF\xBF\xBD[31mred    end\n  = stage"));
}

TEST(OnATerminal, ColoursOnlyWhereWanted) {
  Explanation it = explain(failed(ErrorClass::out_of_bounds, Stage::run, "out-of-bounds load in double", 8),
                           {.candidate = code});
  EXPECT_THAT(to_terminal(it, {}), Not(HasSubstr("\x1b")));
  std::string coloured = to_terminal(it, {.colours = true});
  EXPECT_THAT(coloured, HasSubstr("\x1b[31mrelu: failed (out_of_bounds)\x1b[0m\n"));
  EXPECT_THAT(coloured, HasSubstr("         |         \x1b[31m^^^^^^^\x1b[0m\n"));
}
TEST(OnATerminal, WordsAreWrappedAtTheWidthBelowTheirBeginning) {
  Verdict wrong = incorrect(ErrorClass::wrong_value, "differs");
  wrong.comparison->findings = {"a finding that is longer than one line of this terminal"};
  std::string text = to_terminal(explain(wrong, {}), {.colours = false, .width = 40});
  EXPECT_THAT(text, HasSubstr("  note: a finding that is longer than\n        one line of this terminal\n"));
}
TEST(OnATerminal, AVerdictWithoutAClassIsShownAllTheSame) {
  Verdict bare;
  bare.id = "bare";
  EXPECT_THAT(to_terminal(explain(bare, {}), {}), HasSubstr("bare: error\n"));
}

}  // namespace
}  // namespace kw::explain
