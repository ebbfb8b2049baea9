// The exact text: a model's answer depends on each byte of it, so feedback.txt changes only on purpose.
// KERNELWRIGHT_WRITE_EXPECTED=1 writes it anew.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/core/files.h"
#include "loop/refine/feedback.h"

namespace kw::refine {
namespace {

const std::string code_with_controls =
    "import torch\nimport triton\nimport triton.language as tl\n\n\n@triton.jit\ndef double(p, n):\n"
    "    x = tl.load(p)\n\ttl.store(p, x * 2)  # \x1b[31m \u202e\n\n\ndef triton_kernel_wrapper(x):\n"
    "    double[(1,)](x, 4)\n    return x\n";

Verdict broken(ErrorClass error_class) {
  Verdict verdict;
  verdict.error_class = error_class;
  verdict.status = error_class < ErrorClass::wrong_structure ? Status::failed : Status::incorrect;
  verdict.error = "what /opt/lib/torch/nn.py said, 12%";
  verdict.comparison.emplace();
  verdict.comparison->first_mismatch = FirstMismatch{"output", {0, 1}, 1.5, 2.5};
  verdict.comparison->mismatched_share = 0.25;
  verdict.comparison->max_abs_error = 0;
  verdict.comparison->max_rel_error = 0.667;
  verdict.comparison->findings = {"first", "second", "third", "fourth"};
  return verdict;
}

Verdict placed(Verdict verdict) {
  verdict.error_detail =
      ErrorDetail{"kernel.py", 9, "at 3:16:\n    y = tl.tanh(x)\n        ^\nno 'tanh'", {}};
  return verdict;
}

Verdict right_without_speedup() {
  Verdict verdict;
  verdict.status = Status::correct;
  verdict.counts = true;
  verdict.timing.why_null = "no GPU: speed is not measured";
  return verdict;
}

Verdict does_not_count(CountsReason reason) {
  Verdict verdict = right_without_speedup();
  verdict.counts = false;
  verdict.counts_reason = reason;
  return verdict;
}

std::string all_feedback() {
  std::string all;
  auto add = [&](std::string_view name, const Verdict& verdict, const std::string& source,
                 const FeedbackContext& context = {}) {
    all += fmt::format("== {}\n{}\n", name, build_feedback(verdict, source, context));
  };
  for (int value = 0; value <= static_cast<int>(ErrorClass::infrastructure); ++value) {
    auto error_class = static_cast<ErrorClass>(value);
    std::string name(to_string(error_class));
    add(name, broken(error_class), code_with_controls);
    add(name + ", with its place", placed(broken(error_class)), code_with_controls);
  }
  for (CountsReason reason : {CountsReason::proves_nothing, CountsReason::library_only, CountsReason::decoy,
                              CountsReason::nondeterministic, CountsReason::not_triton,
                              CountsReason::wraps_reference, CountsReason::precision})
    add(to_string(reason), does_not_count(reason), code_with_controls);
  add("right", right_without_speedup(), code_with_controls);
  add("does not parse", broken(ErrorClass::runtime_error), "def f(:\n    pass\n");
  add("no code", broken(ErrorClass::missing_entry), "", {PromptStyle::modelnew, 1, true});
  return all;
}

TEST(FeedbackText, IsWhatItWas) {
  const std::string path = KW_SOURCE_DIR "/tests/loop/refine/feedback.txt";
  if (std::getenv("KERNELWRIGHT_WRITE_EXPECTED") != nullptr) ASSERT_TRUE(write_file(path, all_feedback()));
  auto expected = read_text_file(path);
  ASSERT_TRUE(expected);
  EXPECT_EQ(all_feedback(), *expected);
}

}  // namespace
}  // namespace kw::refine
