#include "code/syntax/outline.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

// The names, with "!" after kernels and ":" after modules.
std::string found(std::string_view code) {
  std::string text;
  for (const Definition& each : outline(code)) {
    if (!each.is_public()) continue;
    if (!text.empty()) text += " ";
    text += each.name;
    if (each.kind == Definition::Kind::kernel) text += "!";
    if (each.kind == Definition::Kind::module) text += ":";
  }
  return text;
}

TEST(Outline, FunctionsModulesAndKernels) {
  EXPECT_EQ(found("import torch.nn as nn\nimport triton\n@triton.jit\ndef k(p): pass\n"
                  "def f(x): return x\nclass Net(nn.Module):\n    def forward(self, x): return x\n"),
            "k! f Net:");
  EXPECT_EQ(found("from triton import autotune, jit\n@autotune([], [])\n@jit\ndef k(p): pass\n"), "k!");
}

TEST(Outline, LeavesOutNamesThatAreNoEntries) {
  EXPECT_EQ(found("def _f(): pass\ndef main(): pass\ndef test_f(): pass\ndef get_inputs(): pass\n"
                  "def get_init_inputs(): pass\n@triton.testing.perf_report(x)\ndef benchmark(): pass\n"
                  "if __name__ == '__main__':\n    def g(): pass\ndef f():\n    def inner(): pass\n"),
            "f");
}

TEST(Outline, ClassesThatAreNoModules) {
  EXPECT_EQ(found("class A: pass\nclass B(A): pass\nclass C(NamedTuple): pass\nclass D(nn.Linear): pass\n"
                  "class E(D): pass\nclass F(other.Base): pass\n"),
            "D: E: F:");
}

TEST(Outline, AnAutogradFunctionsApplyIsAFunction) {
  auto definitions = outline("class Relu(torch.autograd.Function): pass\nrelu = Relu.apply\n");
  ASSERT_EQ(definitions.size(), 1U);
  EXPECT_EQ(definitions[0].name, "relu");
  EXPECT_FALSE(definitions[0].knows_parameters);
}

TEST(Outline, Signatures) {
  auto signature = [](const char* code) { return outline(code).at(0).signature(); };
  EXPECT_EQ(signature("def f(x, y: int, dim=-1, *, eps: float = 1e-5, scale): pass\n"),
            "f(x, y, dim=..., *, eps=..., scale)");
  EXPECT_EQ(signature("f = lambda a, b=1: a\n"), "f(a, b=...)");
  EXPECT_EQ(signature("class M(nn.Module):\n    def forward(self, x, w): pass\n"), "M(x, w)");
}

TEST(Outline, KnowsWhereItDoesNotKnowTheParameters) {
  for (const char* code : {"def f(x, *args): pass\n", "def f(**kwargs): pass\n", "def f(*args: int): pass\n",
                           "@wrapped\ndef f(x): pass\n", "class M(Base): pass\n",
                           "if a:\n    def f(x): pass\nelse:\n    def f(y): pass\n"})
    EXPECT_FALSE(outline(code).at(0).knows_parameters) << code;
  EXPECT_TRUE(outline("def f(x, /, y): pass\n").at(0).knows_parameters);
}

TEST(Outline, InWords) {
  EXPECT_EQ(names_in_words(outline("@triton.jit\ndef k(p): pass\ndef f(x): pass\n")),
            "`k` (a Triton kernel), `f`");
  EXPECT_EQ(callables(outline("@triton.jit\ndef k(p): pass\ndef f(x): pass\ndef _g(): pass\n")).size(), 1U);
  EXPECT_EQ(names_in_words(outline("def _f(): pass\ndef main(): pass\n")), "nothing that can be called");
}

}  // namespace
}  // namespace kw
