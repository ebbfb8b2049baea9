#include <gtest/gtest.h>
#include <chrono>

#include "code/syntax/static_findings.h"

namespace kw {
namespace {

std::string first_forbidden(std::string_view code) {
  StaticReport report = examine(code);
  return report.forbidden.empty() ? "" : report.forbidden.front().what;
}

TEST(TorchNames, AllocatingAndAskingIsNotComputing) {
  for (const char* path : {"torch.empty_like", "torch.zeros", "torch.cuda.synchronize", "torch.no_grad",
                           "torch.nn.init.normal_", "torch.testing.assert_close"})
    EXPECT_TRUE(syntax::computes_nothing(path)) << path;
  for (const char* path :
       {"torch.exp", "torch.float_power", "torch.isnan", "torch.nn.functional.relu", "torch.fft.rfft"})
    EXPECT_FALSE(syntax::computes_nothing(path)) << path;
}

TEST(Names, FunctionsClassesAssignmentsAndImports) {
  auto report = examine("import a.b\nfrom c import d as e\ndef f(): g = 1\nclass H: i = 1\nj, (k, *l) = m\n");
  EXPECT_EQ(report.names, (std::set<std::string>{"a", "e", "f", "H", "j", "k", "l"}));
}

TEST(Names, InsideIfTryWithAndFor) {
  auto report = examine(
      "if x:\n    a = 1\nelse:\n    b = 1\ntry:\n    c = 1\nexcept E as d:\n    e = 1\n"
      "with f() as g:\n    h = 1\nfor i in range(3):\n    j = i\n");
  for (const char* name : {"a", "b", "c", "e", "g", "h", "i", "j"})
    EXPECT_TRUE(report.names.contains(name)) << name;
}

TEST(Names, AttributesAndSubscriptsBindNothing) {
  EXPECT_TRUE(examine("a.b = 1\nc[0] = 2\n").names.empty());
}

TEST(Names, DecoratedAndAnnotated) {
  EXPECT_EQ(examine("@d\ndef f(): pass\nx: int = 1\n").names, (std::set<std::string>{"f", "x"}));
}

TEST(Names, GlobalStatementsCount) {
  EXPECT_TRUE(examine("def f():\n    global G\n    G = 1\n").names.contains("G"));
}

TEST(Names, AStarImportIsOpen) {
  EXPECT_TRUE(examine("from m import *\n").open);
}
TEST(Names, ExecIsOpen) {
  EXPECT_TRUE(examine("exec('ModelNew = 1')\n").open);
}
TEST(Names, PlainCodeIsClosed) {
  EXPECT_FALSE(may_define(examine("x = 1\n"), "ModelNew"));
}

TEST(Errors, ATreeSitterErrorIsAHint) {
  EXPECT_TRUE(examine("def f(:\n").has_error);
}
TEST(Errors, GoodCodeHasNone) {
  EXPECT_FALSE(examine("def f(x, /, *, y=1): return f'{x!r:>{y}}'\n").has_error);
}
TEST(Errors, DeepNestingIsAnErrorAndItsNameIsFound) {
  const StaticReport report = examine("y = 1\nx = " + std::string(200000, '('));
  EXPECT_TRUE(report.has_error);
  EXPECT_TRUE(report.names.contains("y"));
}
TEST(Errors, EmptySource) {
  EXPECT_TRUE(examine("").names.empty());
}

TEST(Forbidden, ImportOfCtypes) {
  EXPECT_EQ(first_forbidden("import os, ctypes as c\n"), "imports ctypes");
}
TEST(Forbidden, FromSubprocess) {
  EXPECT_NE(first_forbidden("from subprocess import run\n"), "");
}
TEST(Forbidden, DunderImport) {
  EXPECT_EQ(first_forbidden("m = __import__('ctypes')\n"), "imports ctypes");
}
TEST(Forbidden, ImportModule) {
  EXPECT_EQ(first_forbidden("from importlib import import_module as load\nload(\"socket\")\n"),
            "imports socket");
}
TEST(Forbidden, FramesByAnyAlias) {
  EXPECT_NE(first_forbidden("import sys as s\nf = s._getframe(1)\n"), "");
  EXPECT_NE(first_forbidden("from inspect import currentframe as c\n"), "");
  EXPECT_NE(first_forbidden("import inspect as i\ni.stack()\n"), "");
  EXPECT_NE(first_forbidden("x = e.__traceback__.tb_frame\n"), "");
  EXPECT_NE(first_forbidden("getattr(f, 'f_back')\n"), "");
}
TEST(Forbidden, HeapSearch) {
  EXPECT_NE(first_forbidden("import gc\ngc.get_objects()\n"), "");
}

TEST(Forbidden, StringsAndCommentsNeverCount) {
  EXPECT_EQ(first_forbidden("# import ctypes\nx = 'import ctypes'\n\"\"\"sys._getframe()\"\"\"\n"), "");
}
TEST(Forbidden, HonestNamesAreFine) {
  EXPECT_EQ(first_forbidden("import gc, sys, inspect, torch\ngc.collect()\ntorch.stack([x])\ntorch.trace(x)\n"
                            "inspect.getsource(f)\ntorch.backends.cuda.matmul.allow_tf32 = True\n"),
            "");
}
TEST(Forbidden, NamesItsLine) {
  EXPECT_EQ(examine("\n\nimport socket\n").forbidden.front().line, 3U);
}

TEST(Jitted, UnderAnyTritonDecorator) {
  auto report = examine(
      "import triton as t\nfrom triton import jit\n@t.jit\ndef a(): pass\n@jit\ndef b(): pass\n"
      "@t.autotune(configs=[], key=[])\n@t.jit\ndef c(): pass\n");
  EXPECT_EQ(report.jitted, (std::vector<std::string>{"a", "b", "c"}));
}
TEST(Jitted, OtherCompilersDoNotCount) {
  EXPECT_TRUE(examine("import numba\n@numba.jit\ndef a(): pass\n").jitted.empty());
}
TEST(Jitted, TorchInsideIsAFinding) {
  auto report = examine("import torch, triton\n@triton.jit\ndef k():\n    torch.sum(1)\nk[(1,)]()\n");
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings.front().line, 4U);
}
TEST(Jitted, OneThatIsNeverUsedIsAFinding) {
  auto report = examine("import triton\n@triton.jit\ndef k():\n    pass\n");
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings.front().what, "the jitted function k is never used");
}

bool is_native(const std::string& code) {
  return examine(
             "import functools\nfrom torch.utils import cpp_extension as ce\n"
             "from torch.utils.cpp_extension import load, load_inline\nimport torch\n" +
             code)
      .native_code;
}

TEST(NativeCode, IsWhatSourcesArePassedFor) {
  EXPECT_TRUE(is_native("m = load_inline('m', cpp_sources='', cuda_sources=CUDA, functions=['f'])\n"));
  EXPECT_TRUE(is_native("m = load_inline('m', '', 'int x;')\n"));
  EXPECT_TRUE(is_native("m = load_inline(name='m', cpp_sources=[\"int x;\"])\n"));
  EXPECT_TRUE(is_native("m = load_inline(**options())\n"));
  EXPECT_TRUE(is_native("m = ce.load('m', sources=[written('a.cu')])\n"));
  EXPECT_TRUE(is_native("m = load('m', ['a.cu'])\n"));
  EXPECT_TRUE(is_native("k = torch.cuda._compile_kernel('__global__ void f() {}', 'f')\n"));
}
TEST(NativeCode, MayBeWhatABuilderIsPassedOnFor) {
  EXPECT_TRUE(is_native("build = functools.partial(load_inline, name='m')\n"));
  EXPECT_TRUE(is_native("build = ce.load_inline\n"));
  EXPECT_TRUE(is_native("build = getattr(ce, 'load' + '_inline')\n"));
}
TEST(NativeCode, IsNoMention) {
  EXPECT_FALSE(is_native(""));
  EXPECT_FALSE(is_native("has_tools = ce.CUDA_HOME is not None\n"));
  EXPECT_FALSE(is_native("m = load_inline('m', cpp_sources='', cuda_sources='', functions=['f'])\n"));
  EXPECT_FALSE(is_native("m = load_inline('m', [''], [], ['f'])\n"));
  EXPECT_FALSE(is_native("# load_inline('m', CUDA)\nx = 'load_inline(1, CUDA)'\n"));
  EXPECT_FALSE(is_native("state = torch.load('weights.pt')\n"));
}
std::string kernel(const std::string& body) {
  return "import torch\nimport torch.nn.functional as F\nimport triton\nimport triton.language as tl\n"
         "@triton.jit\ndef k(p, n: tl.constexpr):\n" +
         body + "def triton_kernel_wrapper(x):\n    k[(1,)](x, 4)\n    return x\n";
}
std::size_t line_of_torch(const std::string& body) {
  StaticReport report = examine(kernel(body));
  return report.torch_on_values.empty() ? 0 : report.torch_on_values.front().line;
}

TEST(TorchOnValues, OnWhatWasLoaded) {
  EXPECT_EQ(line_of_torch("    x = tl.load(p)\n    y = torch.exp(x * 2)\n"), 8U);
  EXPECT_EQ(line_of_torch("    tl.store(p, F.relu(tl.load(p)))\n"), 7U);
}
TEST(TorchOnValues, ConstantsAreFine) {
  EXPECT_EQ(
      line_of_torch("    x = tl.load(p)\n    y = x.to(torch.float32) * torch.finfo(torch.float32).max\n"),
      0U);
  EXPECT_EQ(line_of_torch("    y = torch.sum(n)\n    z = torch.max(n, 3)\n"), 0U);
}
TEST(TorchOnValues, NothingIsSaidWhereTheLineMayNotBeCompiled) {
  EXPECT_EQ(line_of_torch("    x = tl.load(p)\n    if n == 3:\n        y = torch.exp(x)\n"), 0U);
  EXPECT_EQ(line_of_torch("    x = tl.load(p)\n    return\n    y = torch.exp(x)\n"), 0U);
  EXPECT_EQ(line_of_torch("    x = tl.load(p)\n    y = torch.exp(x) if n == 3 else x\n"), 0U);
}
TEST(TorchOnValues, NothingIsSaidOfAVariableThatIsAssignedTwice) {
  EXPECT_EQ(line_of_torch("    x = tl.load(p)\n    x = 3\n    y = torch.exp(x)\n"), 0U);
}
TEST(TorchOnValues, NothingIsSaidOfAParameterCalledTorch) {
  EXPECT_TRUE(examine("import torch, triton\nimport triton.language as tl\n@triton.jit\ndef k(p, torch):\n"
                      "    x = torch.exp(tl.load(p))\nk[(1,)]()\n")
                  .torch_on_values.empty());
}
TEST(TorchOnValues, NothingIsSaidWhereTheKernelMayNeverRun) {
  EXPECT_TRUE(examine("import torch, triton\nimport triton.language as tl\n@triton.jit\ndef k(p):\n"
                      "    x = torch.exp(tl.load(p))\n")
                  .torch_on_values.empty());
  EXPECT_TRUE(examine(kernel("    x = torch.exp(tl.load(p))\n") + "try:\n    f()\nexcept E:\n    pass\n")
                  .torch_on_values.empty());
}
TEST(TorchOnValues, LongSumsAreNoCrash) {
  std::string sum = "x";
  for (int i = 0; i < 50000; ++i) sum += " + x";
  EXPECT_EQ(line_of_torch("    z = torch.exp(" + sum + ")\n"), 0U);
}
TEST(TorchOnValues, NothingIsSaidOutsideOfKernels) {
  EXPECT_TRUE(examine(kernel("    pass\n") + "y = torch.exp(x)\n").torch_on_values.empty());
}

std::string unbalanced(std::string_view code) {
  auto found = find_unbalanced(code);
  return found ? found->what + " " + std::to_string(found->line) : "";
}

TEST(Unbalanced, WhatIsNeverClosed) {
  EXPECT_EQ(unbalanced("a = f(\n  [1, 2],\n"), "'(' is never closed 1");
  EXPECT_EQ(unbalanced("a = 1\n\"\"\"text\n"), "a triple-quoted string is never closed 2");
}
TEST(Unbalanced, WhatClosesNothing) {
  EXPECT_EQ(unbalanced("a = (1]\n"), "']' closes nothing that is open 1");
}
TEST(Unbalanced, StringsAndCommentsNeverCount) {
  EXPECT_EQ(unbalanced("a = '(' # [\nb = \"\\\"{\"\n'''\n(\n'''\nc = f'{a[0]}'\n"), "");
}

TEST(TorchCalls, OutsideOfKernelsThatMayCompute) {
  std::vector<StaticFinding> calls = torch_calls(
      "import torch\nimport triton\nimport torch.nn.functional as F\n"
      "@triton.jit\ndef kernel(p):\n    torch.sin(p)\n"
      "def wrapper(x):\n    y = torch.empty_like(x)\n    return F.softmax(y, 0)\n");
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls.front().what, "F.softmax");
  EXPECT_EQ(calls.front().line, 9U);
}
TEST(Entry, AnyNameThatIsLookedFor) {
  EXPECT_TRUE(may_have_entry(examine("def triton_kernel_wrapper(x): pass\n")));
  EXPECT_TRUE(may_have_entry(examine("class ModelNew: pass\n")));
  EXPECT_TRUE(may_have_entry(examine("class ReluNew: pass\n")));
  EXPECT_TRUE(may_have_entry(examine("from m import *\n")));
  EXPECT_FALSE(may_have_entry(examine("def triton_wrapper(x): pass\n")));
}

TEST(Errors, TheFirstErrorHasALine) {
  EXPECT_EQ(examine("a = 1\nb = = 2\n").error_line, 2U);
  EXPECT_EQ(examine("a = 1\n").error_line, 0U);
}

}  // namespace
TEST(Examine, ManyCommentLinesTakeNoLongerThanTheirLength) {
  std::string code = "import torch\n";
  for (int line = 0; line < 200'000; ++line) code += "#\n";
  code += "def triton_kernel_wrapper(x):\n    return x\n";
  auto began = std::chrono::steady_clock::now();
  StaticReport report = examine(code);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(2));
  EXPECT_TRUE(report.forbidden.empty());
  EXPECT_TRUE(report.names.contains("triton_kernel_wrapper"));
}

TEST(Examine, ACommentBetweenDecoratorAndFunctionChangesNothing) {
  StaticReport report = examine("import triton\n@triton.jit\n# why\ndef kernel(x):\n    # what\n    pass\n");
  EXPECT_FALSE(report.has_error);
  EXPECT_EQ(report.jitted, std::vector<std::string>{"kernel"});
}

TEST(Examine, AHashInAStringStaysOnItsLine) {
  StaticReport report = examine("source = \"\"\"\n#include <cuda.h>\n\"\"\"\nimport ctypes\n");
  ASSERT_EQ(report.forbidden.size(), 1u);
  EXPECT_EQ(report.forbidden.front().line, 4u);
}

}  // namespace kw
