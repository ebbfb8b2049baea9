#include <gtest/gtest.h>

#include "syntax/static_findings.h"

namespace kw {
namespace {

std::string first_forbidden(std::string_view code) {
  StaticReport report = examine(code);
  return report.forbidden.empty() ? "" : report.forbidden.front().what;
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
TEST(Errors, DeepNestingIsNoCrash) {
  examine("x = " + std::string(200000, '('));
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
TEST(Jitted, NativeCodeIsSeen) {
  EXPECT_TRUE(examine("from torch.utils.cpp_extension import load_inline\n").native_code);
}

}  // namespace
}  // namespace kw
