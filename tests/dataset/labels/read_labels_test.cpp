#include <gtest/gtest.h>

#include "dataset/labels/labels.h"

namespace kw::labels {
namespace {

corpus::Unit triton(std::string text) {
  corpus::Unit unit;
  unit.kind = corpus::UnitKind::triton;
  unit.text = std::move(text);
  unit.context = "import torch\nimport triton\nimport triton.language as tl\n";
  return unit;
}

corpus::Unit cuda(std::string text) {
  corpus::Unit unit;
  unit.kind = corpus::UnitKind::cuda_kernel;
  unit.text = std::move(text);
  return unit;
}

TEST(ReadLabels, AMaskByNameMasks) {
  EXPECT_TRUE(read_labels(triton("x = tl.load(p + i, mask=i < n)")).masked_loads);
}

TEST(ReadLabels, AMaskByPositionMasks) {
  EXPECT_TRUE(read_labels(triton("x = tl.load(p + tl.arange(0, N), mask, 0.0)")).masked_loads);
  EXPECT_TRUE(read_labels(triton("tl.store(p + i, x, mask)")).masked_loads);
}

TEST(ReadLabels, TheValueOfAStoreIsNoMask) {
  EXPECT_FALSE(read_labels(triton("tl.store(p + i, mask)")).masked_loads);
}

TEST(ReadLabels, NoneIsNoMask) {
  EXPECT_FALSE(read_labels(triton("x = tl.load(p, mask=None)")).masked_loads);
}

TEST(ReadLabels, CommentsAndStringsAreNoCode) {
  corpus::Labels labels =
      read_labels(triton("# tl.load(p, mask=m)\n'tl.atomic_add(p, 1)'\n\"\"\"\ntl.dot(\n\"\"\""));
  EXPECT_FALSE(labels.masked_loads || labels.atomics || labels.shared_memory);
}

TEST(ReadLabels, ABoundaryCheckIsSeen) {
  corpus::Labels labels = read_labels(triton("tl.store(b, x.to(t), boundary_check=(0, 1))"));
  EXPECT_TRUE(labels.boundary_check);
  EXPECT_FALSE(labels.masked_loads);
}

TEST(ReadLabels, WhatNeedsSharedMemoryHasIt) {
  EXPECT_TRUE(read_labels(triton("a = tl.dot(x, y)")).shared_memory);
  EXPECT_FALSE(read_labels(triton("a = tl.dotted(x, y)")).shared_memory);
}

TEST(ReadLabels, AnAutotuneOfALibraryIsAutotune) {
  for (const char* decorator :
       {"@fla_cache_autotune(configs=c)", "@libentry.libtuner(configs=c)", "@autotune", "@my.autotune (c)"}) {
    corpus::Unit unit = triton("def k(): pass");
    unit.decorators = {decorator};
    EXPECT_TRUE(read_labels(unit).autotune) << decorator;
  }
}

TEST(ReadLabels, AnArgumentNamedAutotuneIsNoDecorator) {
  corpus::Unit unit = triton("def k(): pass");
  unit.decorators = {"@jit(use=autotune)", "@autotune_later(c)", "@triton.heuristics({'a.autotune': 1})"};
  EXPECT_FALSE(read_labels(unit).autotune);
}

TEST(ReadLabels, AutotuneIsADecorator) {
  corpus::Unit unit = triton("def k(): autotune()");
  EXPECT_FALSE(read_labels(unit).autotune);
  unit.decorators = {"@triton.autotune(configs=c, key=['n'])", "@triton.jit"};
  EXPECT_TRUE(read_labels(unit).autotune);
}

TEST(ReadLabels, ImportsOfOthersAreNotSelfContained) {
  corpus::Unit unit = triton("def k(): pass");
  EXPECT_TRUE(read_labels(unit).self_contained);
  unit.context += "from ..utils import helper\n";
  EXPECT_FALSE(read_labels(unit).self_contained);
}

TEST(ReadLabels, AMissingNameIsNotSelfContained) {
  corpus::Unit unit = triton("def k(): pass");
  unit.missing = {"helper"};
  EXPECT_FALSE(read_labels(unit).self_contained);
}

TEST(ReadLabels, EachModuleOfAnImportCounts) {
  corpus::Unit unit = triton("def k(): pass");
  unit.context = "import torch, einops as e\n";
  EXPECT_FALSE(read_labels(unit).self_contained);
}

TEST(ReadLabels, ALauncherThatReadsShapesMakesThemClear) {
  corpus::Unit unit = triton("def k(): pass");
  unit.launches.push_back({"f", "def f(x):\n    k[(1,)](x)\n", "(1,)", {{"", "x"}}});
  EXPECT_FALSE(read_labels(unit).clear_argument_shapes);
  unit.launches.front().arguments.push_back({"", "x.shape[0]"});
  EXPECT_TRUE(read_labels(unit).clear_argument_shapes);
}

TEST(ReadLabels, ADocumentedShapeIsClear) {
  corpus::Unit unit = triton("def k(): pass");
  unit.doc = "x: the input (optional, may be None)";
  EXPECT_FALSE(read_labels(unit).clear_argument_shapes);
  unit.doc = "x: shape (M, N)";
  EXPECT_TRUE(read_labels(unit).clear_argument_shapes);
}

TEST(ReadLabels, CudaHasItsOwnWords) {
  corpus::Labels labels = read_labels(cuda("__shared__ float s[32]; if (i < n) atomicAdd(&x[i], 1.f);"));
  EXPECT_TRUE(labels.shared_memory && labels.atomics && labels.boundary_check);
  EXPECT_FALSE(read_labels(cuda("// __shared__\nx = \"atomicAdd\";")).shared_memory);
}

TEST(ReadLabels, CudaIncludesOfItsTreeAreNotSelfContained) {
  corpus::Unit unit = cuda("__global__ void k() {}");
  unit.context = "#include <cuda_fp16.h>\n#include <ATen/ATen.h>\n";
  EXPECT_TRUE(read_labels(unit).self_contained);
  unit.context += "#include \"utils.cuh\"\n";
  EXPECT_FALSE(read_labels(unit).self_contained);
}

TEST(ReadLabels, AnotherNameOfAFunctionOfTritonCounts) {
  corpus::Unit unit = triton("y = gather(x, i, axis=0)");
  EXPECT_FALSE(read_labels(unit).shared_memory);
  unit.context += "\ngather = tl.gather\n";
  EXPECT_TRUE(read_labels(unit).shared_memory);
}

TEST(LacksLanguageName, SaysTheReasonOfAFailure) {
  corpus::Labels labels;
  labels.compile = corpus::CompileLabel::fails;
  labels.compile_reason = "triton.language has no cidv, in next_multiple_of";
  EXPECT_TRUE(lacks_language_name(labels));
  labels.compile_reason = "line 3: arange() missing 1 required argument";
  EXPECT_FALSE(lacks_language_name(labels));
}

TEST(CodeText, KeepsTheLengthWhateverIsUnfinished) {
  for (std::string_view text : {"'abc", "\"\"\"abc", "'a\\", "/* x", "# \n x", "\"\"", "f(x, '''"}) {
    EXPECT_EQ(without_words(text, Syntax::python).size(), text.size()) << text;
    EXPECT_EQ(without_words(text, Syntax::cuda).size(), text.size()) << text;
  }
}

TEST(CodeText, ManyUnclosedCallsTakeNoLongTime) {
  std::string code;
  for (int i = 0; i < 20'000; ++i) code += "tl.load(";
  EXPECT_EQ(calls_of(code, "load").size(), 20'000U);
}

}  // namespace
}  // namespace kw::labels
