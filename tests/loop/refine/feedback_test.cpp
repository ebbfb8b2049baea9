// Each kind of verdict, and the facts that its feedback must contain.
#include "loop/refine/feedback.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/core/text.h"

namespace kw::refine {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string doubling_code =
    "import torch\nimport triton\nimport triton.language as tl\n\n\n@triton.jit\ndef double(p, n):\n"
    "    x = tl.load(p)\n    tl.store(p, x * 2)\n\n\ndef triton_kernel_wrapper(x):\n    double[(1,)](x, 4)\n"
    "    return x\n";

Verdict failed(ErrorClass error_class, const std::string& error, std::int64_t line = 0) {
  Verdict verdict;
  verdict.status = Status::failed;
  verdict.fault = Fault::kernel;
  verdict.error_class = error_class;
  verdict.error = error;
  if (line > 0) {
    verdict.error_detail.emplace();
    verdict.error_detail->line = line;
  }
  return verdict;
}

Verdict wrong(ErrorClass error_class, const std::string& error) {
  Verdict verdict = failed(error_class, error);
  verdict.status = Status::incorrect;
  verdict.comparison.emplace();
  return verdict;
}

Verdict right_with_speedup(double speedup) {
  Verdict verdict;
  verdict.status = Status::correct;
  verdict.counts = true;
  verdict.speedup = speedup;
  verdict.reference_time_ms = 0.125;
  verdict.kernel_time_ms = 0.125 / speedup;
  verdict.timing.instrument = "cuda-events";
  return verdict;
}

std::string feedback(const Verdict& verdict, const FeedbackContext& context = {}) {
  std::string text = build_feedback(verdict, doubling_code, context);
  EXPECT_LE(text.size(), feedback_limit);
  EXPECT_EQ(text, to_plain_text(text));
  EXPECT_THAT(text, HasSubstr("between <triton> and </triton>"));
  return text;
}

TEST(Feedback, ACompileErrorHasTheCompilersLinesAndOurs) {
  Verdict verdict = failed(ErrorClass::compile_error, "AttributeError: no attribute 'tanh'", 9);
  verdict.error_detail->compiler_text = "at 3:16:\n    y = tl.tanh(x)\n        ^\nno attribute 'tanh'";
  EXPECT_THAT(feedback(verdict), AllOf(HasSubstr("does not compile"), HasSubstr("y = tl.tanh(x)\n        ^"),
                                       HasSubstr(">    9 |     tl.store(p, x * 2)"), HasSubstr("     8 | ")));
}
TEST(Feedback, OfALongCompilerTextTheEndIsKept) {
  Verdict verdict = failed(ErrorClass::compile_error, "CompilationError", 9);
  verdict.error_detail->compiler_text = std::string(5000, 'a') + "\nthe point of it";
  EXPECT_THAT(feedback(verdict), AllOf(HasSubstr("the point of it"), Not(HasSubstr("aaaa"))));
}
TEST(Feedback, OutOfBoundsHasKernelLineAndLanes) {
  std::string error =
      "OutOfBounds: out-of-bounds load in double, line 8: 212 of 512 lanes lie beyond every tensor";
  EXPECT_THAT(
      feedback(failed(ErrorClass::out_of_bounds, error, 8)),
      AllOf(HasSubstr("212 of 512 lanes"), HasSubstr(">    8 |     x = tl.load(p)"), HasSubstr("Mask")));
}
TEST(Feedback, WrongValuesSayWhereAndByHowMuch) {
  Verdict verdict = wrong(ErrorClass::wrong_value, "output: 3 of 12 values differ");
  verdict.comparison->first_mismatch = FirstMismatch{"output", {0, 1}, 1.5, 2.5};
  verdict.comparison->mismatched_share = 0.25;
  verdict.comparison->max_abs_error = 1;
  verdict.comparison->max_rel_error = 0.667;
  verdict.comparison->findings = {"TF32 explains the error"};
  EXPECT_THAT(feedback(verdict),
              AllOf(HasSubstr("values are wrong"), HasSubstr("First at output[0, 1]: expected 1.5, got 2.5"),
                    HasSubstr("25% of all values are wrong"), HasSubstr("largest absolute error 1"),
                    HasSubstr("0.667"), HasSubstr("TF32 explains")));
}
TEST(Feedback, WhatTheErrorSaysIsNotSaidTwice) {
  Verdict verdict =
      wrong(ErrorClass::wrong_value,
            "output: 3 of 12 values differ (25.0%); first at [0, 1]: expected 1.5, got 2.5; largest error 1");
  verdict.comparison->first_mismatch = FirstMismatch{"output", {0, 1}, 1.5, 2.5};
  verdict.comparison->mismatched_share = 0.25;
  verdict.comparison->max_abs_error = 1;
  verdict.comparison->max_rel_error = 0.667;
  EXPECT_THAT(feedback(verdict),
              AllOf(Not(HasSubstr("First at")), HasSubstr("trials: largest relative error 0.667")));
}
TEST(Feedback, ErrorsAreLeftOutWhereNoValuesWereCompared) {
  Verdict verdict = wrong(ErrorClass::wrong_shape, "output: expected shape [4], got [4, 1]");
  verdict.comparison->max_abs_error = verdict.comparison->max_rel_error = 0;
  EXPECT_THAT(feedback(verdict), Not(HasSubstr("Over all trials")));
}
TEST(Feedback, WrongFormsAreNamed) {
  EXPECT_THAT(feedback(wrong(ErrorClass::wrong_shape, "output: expected shape [4], got [4, 1]")),
              HasSubstr("expected shape [4], got [4, 1]"));
  EXPECT_THAT(feedback(wrong(ErrorClass::wrong_dtype, "output: expected float16, got float32")),
              HasSubstr("float16"));
  EXPECT_THAT(feedback(wrong(ErrorClass::wrong_structure, "output: expected a tuple of 2, got None")),
              HasSubstr("a tuple of 2"));
  EXPECT_THAT(feedback(wrong(ErrorClass::nonfinite, "output: 4 values are NaN")), HasSubstr("other="));
  EXPECT_THAT(feedback(wrong(ErrorClass::input_modified, "x was changed")),
              HasSubstr("changed one of its inputs"));
}
TEST(Feedback, RuntimeErrorsHaveTheirLine) {
  EXPECT_THAT(feedback(failed(ErrorClass::runtime_error, "TypeError: missing argument", 13)),
              AllOf(HasSubstr("TypeError: missing argument"), HasSubstr(">   13 |     double[(1,)](x, 4)")));
}
TEST(Feedback, EveryOtherClassSaysWhatHappened) {
  EXPECT_THAT(feedback(failed(ErrorClass::syntax_error, "line 3: '(' is never closed", 3)),
              HasSubstr("not valid"));
  EXPECT_THAT(feedback(failed(ErrorClass::forbidden, "line 1: imports ctypes is forbidden", 1)),
              AllOf(HasSubstr("refused"), HasSubstr("imports ctypes")));
  EXPECT_THAT(feedback(failed(ErrorClass::import_error, "No module named 'x'")), HasSubstr("imported"));
  EXPECT_THAT(feedback(failed(ErrorClass::out_of_resources, "shared memory, required 300000")),
              HasSubstr("Smaller"));
  EXPECT_THAT(feedback(failed(ErrorClass::illegal_memory_access, "an illegal memory access")),
              HasSubstr("masks"));
  EXPECT_THAT(feedback(failed(ErrorClass::timeout, "a launch did not end in time")), HasSubstr("never ends"));
  EXPECT_THAT(feedback(failed(ErrorClass::out_of_memory, "CUDA out of memory")),
              HasSubstr("ran out of memory"));
  EXPECT_THAT(feedback(failed(ErrorClass::process_died, "died of Aborted")), HasSubstr("died of Aborted"));
}
TEST(Feedback, WithoutCodeItSaysWhatFormIsExpected) {
  std::string text = build_feedback(failed(ErrorClass::missing_entry, "the answer holds no code"), "",
                                    {PromptStyle::modelnew, 1, true});
  EXPECT_THAT(text, AllOf(HasSubstr("`ModelNew`"), HasSubstr("be brief"), HasSubstr("no code")));
}
TEST(Feedback, WrongAtReducedShapesIsTold) {
  Verdict verdict = failed(ErrorClass::too_large, "too large to interpret");
  verdict.status = Status::skipped;
  verdict.comparison.emplace();
  verdict.comparison->findings = {"at reduced shapes: wrong_value: output: 3 of 12 values differ"};
  EXPECT_THAT(feedback(verdict), HasSubstr("3 of 12 values differ"));
}
TEST(Feedback, AKernelThatIsNeverUsedIsNoted) {
  std::string unused = "import triton\n@triton.jit\ndef k(): pass\ndef triton_kernel_wrapper(x): return x\n";
  EXPECT_THAT(build_feedback(wrong(ErrorClass::wrong_value, "differs"), unused, {}),
              HasSubstr("the jitted function k is never used"));
}

TEST(Feedback, SlowSaysHowSlowAndWhereTheTimeGoes) {
  Verdict verdict = right_with_speedup(0.5);
  verdict.timing.call_speedup = 0.75;
  verdict.timing.roofline_share = 0.25;
  Launch launch;
  launch.name = "first";
  launch.grid = {64, 1, 1};
  launch.time_ms = 0.05;
  launch.spills = 12;
  verdict.launches = {launch, launch};
  verdict.launches->back().name = "second";
  verdict.launches->back().time_ms = 0.1;
  std::string text = feedback(verdict);
  EXPECT_THAT(text, AllOf(HasSubstr("0.5x the reference's speed"), HasSubstr("0.125 ms and yours 0.25 ms"),
                          HasSubstr("run at 0.75x"), HasSubstr("2 launches"), HasSubstr("25% of your time"),
                          HasSubstr("12 spilled"), HasSubstr("in one kernel"),
                          HasSubstr("Together they take 0.15 ms")));
  EXPECT_LT(text.find("second"), text.find("first, grid"));
}
TEST(Feedback, TheTargetIsNamed) {
  EXPECT_THAT(feedback(right_with_speedup(1.5), {PromptStyle::wrapper, 2.0, false}),
              HasSubstr("at least 2x is wanted"));
}
TEST(Feedback, EqualLaunchesAreOneLine) {
  Verdict verdict = right_with_speedup(0.5);
  Launch launch;
  launch.name = "step";
  verdict.launches = std::vector<Launch>(300, launch);
  EXPECT_THAT(feedback(verdict), AllOf(HasSubstr("300 launches"), HasSubstr("step, grid (), 300 times")));
}
TEST(Feedback, RightThatDoesNotCountSaysWhy) {
  Verdict verdict = right_with_speedup(2);
  verdict.counts = false;
  verdict.counts_reason = CountsReason::library_only;
  EXPECT_THAT(feedback(verdict), HasSubstr("launched no kernel of your own"));
  verdict.counts_reason = CountsReason::decoy;
  EXPECT_THAT(feedback(verdict), HasSubstr("when your launches do nothing"));
  verdict.counts_reason = CountsReason::proves_nothing;
  EXPECT_THAT(feedback(verdict), HasSubstr("is no evidence"));
}
TEST(Feedback, WithoutAGpuItAsksForSpeedAllTheSame) {
  Verdict verdict = right_with_speedup(1);
  verdict.speedup.reset();
  verdict.timing.why_null = "no GPU: speed is not measured";
  EXPECT_THAT(feedback(verdict), AllOf(HasSubstr("It is right"), HasSubstr("no GPU")));
}

TEST(Feedback, PathsAreCutDown) {
  EXPECT_THAT(
      feedback(failed(ErrorClass::runtime_error, "in \"/opt/x/lib/torch/nn.py\": a / b and c/d and // e")),
      AllOf(HasSubstr("in \"nn.py\": a / b and c/d and // e"), Not(HasSubstr("/opt"))));
}
TEST(Feedback, HostileTextStaysBoundedAndPlain) {
  Verdict verdict = failed(ErrorClass::runtime_error, std::string(100000, 'e') + "\x1b[2J\xff", 9);
  verdict.error_detail->compiler_text = std::string(100000, '\x07');
  verdict.comparison.emplace();
  verdict.comparison->findings = std::vector<std::string>(50, std::string(5000, 'f'));
  feedback(verdict);
  std::string long_line = "x = '" + std::string(1 << 20, 'a') + "'";
  EXPECT_LE(build_feedback(failed(ErrorClass::runtime_error, "no", 1), long_line, {}).size(), feedback_limit);
}

}  // namespace
}  // namespace kw::refine
