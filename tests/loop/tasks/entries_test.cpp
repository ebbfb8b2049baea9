#include "loop/tasks/entries.h"

#include "task_world.h"

namespace kw {
namespace {

using testing::HasSubstr;

constexpr const char* shape_of_x = R"({"x": {"shape": [4]}})";
const std::string launch = "import triton\n@triton.jit\ndef k(p): pass\n";

Job pair(std::string reference, std::string kernel, std::string input_shapes = shape_of_x) {
  Job job;
  job.task.reference_code = std::move(reference);
  job.task.input_shapes = std::move(input_shapes);
  job.candidate.code = std::move(kernel);
  return job;
}

// "REFERENCE'S KERNEL'S", "-" for an entry that is left open, or the error.
std::string entries(Job job, bool by_hand = true, bool is_completion = false) {
  auto found = find_entries(job, {"reference.py", "kernel.py", by_hand, is_completion});
  if (!found) return found.error().what + " -> " + found.error().remedy;
  auto shown = [](const std::string& name) { return name.empty() ? "-" : name; };
  return shown(job.task.entry_point) + " " + shown(job.candidate.entry);
}

TEST(Entries, OnlyPublicNames) {
  EXPECT_EQ(entries(pair("def _h(x): pass\ndef softmax(x): pass\n", launch + "def fast(x): pass\n")),
            "softmax fast");
  EXPECT_EQ(entries(pair("class Net(nn.Module): pass\n", launch + "class Fast(nn.Module): pass\n")),
            "Net Fast");
}

TEST(Entries, WhatIsRecognisedStaysOpen) {
  EXPECT_EQ(entries(pair("def reference_impl(x): pass\ndef g(): pass\n",
                         launch + "def triton_kernel_wrapper(x): pass\ndef f(): pass\n")),
            "- -");
  EXPECT_EQ(entries(pair("class Model(nn.Module): pass\ndef f(): pass\n", "class ModelNew: pass\n", "")),
            "- -");
  EXPECT_EQ(entries(pair("class _Net(nn.Module): pass\ndef f(): pass\n", "class NetNew: pass\n", "")), "- -");
  EXPECT_EQ(entries(pair("from m import *\ndef f(x): pass\n", "from m import *\ndef f(x): pass\n")), "- -");
}

TEST(Entries, TheKernelMayBearTheReferencesName) {
  std::string two = launch + "def helper(x): pass\ndef softmax(x): pass\n";
  EXPECT_EQ(entries(pair("def softmax(x): pass\n", two)), "softmax softmax");
  EXPECT_EQ(
      entries(pair("def reference_impl(x): pass\n", launch + "def reference_impl(x): pass\ndef g(): pass\n")),
      "- reference_impl");
  EXPECT_EQ(entries(pair("class Model(nn.Module): pass\n",
                         launch + "class Model(nn.Module): pass\ndef g(): pass\n", "")),
            "- Model");
}

TEST(Entries, TheReferenceTakesTheKernelsNameOnlyByHand) {
  std::string reference = "def softmax(x): pass\ndef log_softmax(x): pass\n";
  std::string kernel = launch + "def softmax(x): pass\n";
  EXPECT_EQ(entries(pair(reference, kernel)), "softmax softmax");
  EXPECT_EQ(entries(pair(reference, kernel), false), "- softmax");
  EXPECT_THAT(entries(pair(reference, kernel), true, true), HasSubstr("reference.py defines"));
  EXPECT_THAT(entries(pair(reference, kernel + "def other(x): pass\n")), HasSubstr("which of them"));
  Job job = pair(reference, kernel + "def log_softmax(x): pass\n");
  job.candidate.entry = "log_softmax";
  EXPECT_EQ(entries(job), "log_softmax log_softmax");
}

// A kernel must not choose the easier part of a reference.
TEST(Entries, AHelperOfTheReferenceIsNotItsEntry) {
  std::string reference = "def halve(x): return x / 2\ndef full(x): return softmax(halve(x), -1)\n";
  EXPECT_THAT(entries(pair(reference, launch + "def halve(x): pass\n")), HasSubstr("which of them"));
  EXPECT_EQ(entries(pair(reference, launch + "def full(x): pass\n")), "full full");
}

TEST(Entries, ANameThatIsBoundByACallMayBeTheEntry) {
  std::string kernel =
      launch + "def blocks(n): pass\ndef _double(x): pass\ndouble = partial(_double, B=64)\n";
  EXPECT_EQ(entries(pair("def double(x): pass\n", kernel)), "double double");
  std::string reference = "def check(x): pass\ndouble = torch.compile(lambda x: x * 2)\n";
  EXPECT_EQ(entries(pair(reference, launch + "def double(x): pass\n"), false), "- double");
  EXPECT_EQ(
      entries(pair("def softmax(x): pass\n", "from torch import softmax\n" + launch + "def fast(x): pass\n")),
      "softmax fast");
}

TEST(Entries, AModelWithHelpersAndShapesIsTheModel) {
  std::string reference = "def helper(x): pass\nclass Model(nn.Module):\n  def forward(self, x): pass\n";
  EXPECT_EQ(entries(pair(reference, launch + "def triton_kernel_wrapper(x): pass\n")), "Model -");
}

TEST(Entries, AnEnumerationIsNoModule) {
  std::string reference =
      "class Mode(str, Enum):\n  A = 'a'\nclass Odd(ValueError): pass\ndef double(x): pass\n";
  EXPECT_EQ(entries(pair(reference, launch + "def double(x): pass\n", "")), "double double");
}

TEST(Entries, AKernelWithUncertainNamesMayBearTheReferencesName) {
  std::string kernel =
      launch + "class Box:\n  def __init__(self): setattr(self, 'a', 1)\ndef double(x): pass\n";
  EXPECT_EQ(entries(pair("def double(x): pass\n", kernel)), "double double");
}

TEST(Entries, WhatIsNotFoundIsListed) {
  EXPECT_EQ(entries(pair("def softmax(x): pass\n", launch + "def a(x): pass\ndef b(x): pass\n")),
            "kernel.py defines `k` (a Triton kernel), `a`, `b`; none of them is called `softmax`, as the "
            "reference is -> add `--kernel-entry a` or `--kernel-entry b`");
  EXPECT_EQ(entries(pair("def a(x): pass\ndef b(x): pass\n", launch + "def c(x): pass\n")),
            "reference.py defines `a`, `b`; which of them is the reference? -> add `--entry-point a` or "
            "`--entry-point b`");
}

TEST(Entries, AKernelWithoutAFunctionGetsAVerdict) {
  EXPECT_EQ(entries(pair("def softmax(x): pass\n", launch)), "softmax -");
}

TEST(Entries, ANamedEntryMustExist) {
  Job job = pair("def softmax(x): pass\n", launch + "def fast(x): pass\n");
  job.candidate.entry = "slow";
  EXPECT_EQ(entries(job),
            "--kernel-entry: kernel.py defines no `slow` -> it defines `k` (a Triton kernel), `fast`");
  job.candidate.entry = "k";
  EXPECT_THAT(entries(job),
              HasSubstr("`k` of kernel.py is a Triton kernel, and no entry that can be called"));
  job.candidate.entry = "fast";
  job.task.entry_point = "max";
  EXPECT_THAT(entries(job), HasSubstr("--entry-point: reference.py defines no `max`"));
}

TEST(Entries, ACompletionKeepsToTheNamesOfThePrompt) {
  EXPECT_EQ(entries(pair("def softmax(x): pass\n", launch + "def fast(x): pass\n"), true, true), "softmax -");
}

TEST(Entries, ASwappedPairIsNoticed) {
  Job swapped = pair(launch + "def softmax(x): pass\n", "import torch\ndef softmax(x): pass\n");
  EXPECT_THAT(entries(swapped), HasSubstr("the reference, reference.py, contains the Triton kernel `k`"));
  EXPECT_EQ(entries(swapped, false), "softmax softmax");
  swapped.task.entry_point = swapped.candidate.entry = "softmax";
  EXPECT_EQ(entries(swapped), "softmax softmax");
}

TEST(Entries, HonestPairsWithoutTritonAreNotSwapped) {
  std::string torch = "import torch\ndef softmax(x): pass\n";
  EXPECT_EQ(entries(pair(torch, torch)), "softmax softmax");
  EXPECT_EQ(entries(pair(launch + torch, launch + torch)), "softmax softmax");
  EXPECT_EQ(entries(pair(launch + torch, "from torch.utils.cpp_extension import load_inline\n" + torch)),
            "softmax softmax");
  EXPECT_EQ(entries(pair(launch + torch, "import triton\nk = triton.jit(f)\n" + torch)), "softmax softmax");
}

// The error about the names of input shapes, or "".
std::string shape_error(const char* reference, const char* input_shapes) {
  Task task;
  task.reference_code = reference;
  task.input_shapes = input_shapes;
  auto good = check_shape_names(task, "--input-shapes");
  return good ? "" : good.error().what + " -> " + good.error().remedy;
}

TEST(ShapeNames, AnUnknownNameIsRefused) {
  EXPECT_EQ(shape_error("def add(a, b): pass\n", R"({"a": {"shape": [1]}, "aa": {"shape": [1]}})"),
            "--input-shapes: `aa` is not a parameter of `add(a, b)` -> did you mean `b`?");
  EXPECT_EQ(
      shape_error("def reference_impl(x, dim=-1): pass\n",
                  R"({"x": {"shape": [1]}, "weight": {"shape": [1]}})"),
      "--input-shapes: `weight` is not a parameter of `reference_impl(x, dim=...)` -> name its parameters");
}

TEST(ShapeNames, AMissingOneIsNamed) {
  EXPECT_EQ(
      shape_error("def add(a, b): pass\n", R"({"a": {"shape": [1]}})"),
      R"(--input-shapes: there is no shape for `b` of `add(a, b)` -> add "b": {"shape": [...], "dtype": "float32"})");
  EXPECT_THAT(
      shape_error("def f(a, b=None, c=None): pass\n", R"({"a": {"shape": [1]}, "c": {"shape": [1]}})"),
      HasSubstr("no shape for `b`"));
  EXPECT_EQ(shape_error("def f(a, b=None, *, eps=1): pass\n", R"({"a": {"shape": [1]}})"), "");
}

TEST(ShapeNames, AreLeftToPythonWhereTheTextDoesNotShowThem) {
  for (const char* reference : {"def f(*args): pass\n", "from m import reference_impl\n",
                                "@wraps\ndef f(x): pass\n", "def f(a): pass\ndef g(b): pass\n"})
    EXPECT_EQ(shape_error(reference, R"({"q": {"shape": [1]}})"), "") << reference;
}

TEST(ShapeNames, OfAModuleAreThoseOfForward) {
  const char* module = "class Net(nn.Module):\n    def forward(self, x): pass\n";
  EXPECT_EQ(shape_error(module, R"({"x": {"shape": [1]}})"), "");
  EXPECT_THAT(shape_error(module, R"({"y": {"shape": [1]}})"), HasSubstr("did you mean `x`?"));
}

}  // namespace
}  // namespace kw
