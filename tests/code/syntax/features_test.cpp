// Whether a source uses a feature that its process reports as missing.
#include "code/syntax/features.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace kw {
namespace {

std::string missing(std::string_view feature) {
  return fmt::format("Unsupported: cannot be run without a GPU: {}", feature);
}

struct Use {
  std::string_view feature;
  std::string_view source;
};

class HonestUse : public ::testing::TestWithParam<Use> {};

TEST_P(HonestUse, IsSeen) {
  EXPECT_TRUE(may_use(GetParam().source, missing(GetParam().feature)));
}

// Each feature that python/kernelwright/_engine reports, by the names that lead to it.
INSTANTIATE_TEST_SUITE_P(
    Of, HonestUse,
    ::testing::Values(
        Use{"inline PTX", "y = tl.inline_asm_elementwise('cvt', '=r,r', [x], tl.int32, True, 1)\n"},
        Use{"inline PTX", "from triton.language import inline_asm_elementwise as asm\n"},
        Use{"inline PTX", "t = tl.extra.cuda.globaltimer()\n"},
        Use{"inline PTX", "y = x.to(tl.float8e4b15)\n"},
        Use{"inline PTX", "exec('def k():\\n    tl.inline_asm_elementwise()')\n"},
        Use{"inline_asm not supported in interpreter mode", "tl.inline_asm_elementwise()\n"},
        Use{"external function __nv_unknown", "from triton.language.extra import libdevice\n"},
        Use{"libdevice.mulhi on 64-bit integers", "y = tl.math.mulhi(a, b)\n"},
        Use{"libdevice.mulhi on 64-bit integers", "y = tl.umulhi(a, b)\n"},
        Use{"tl.map_elementwise", "y = tl.map_elementwise(f, x)\n"},
        Use{"atomics on tensor descriptors", "d = tl.make_tensor_descriptor(p, [8], [1], [8])\n"},
        Use{"atomics on tensor descriptors", "from triton.tools.tensor_descriptor import TensorDescriptor\n"},
        Use{"tl.dot_scaled", "acc = tl.dot_scaled(a, s, 'e4m3', b, t, 'e4m3')\n"},
        Use{"atomics other than add on 16-bit floats", "tl.atomic_max(p, x)\n"},
        Use{"Gluon", "from triton.experimental import gluon\n"},
        Use{"CUDA graphs", "g = torch.cuda.CUDAGraph()\n"},
        Use{"CUDA graphs", "triton.testing.do_bench_cudagraph(f)\n"},
        Use{"CUDA C++", "k = torch.cuda._compile_kernel(source, 'k')\n"},
        Use{"load_inline", "from torch.utils.cpp_extension import load_inline as build\n"},
        Use{"compiling CUDA C++ without nvcc", "from torch.utils.cpp_extension import load_inline\n"},
        Use{"torch C++ extensions", "import torch.utils.cpp_extension as extension\nextension.load('k')\n"},
        Use{"kernel.warmup", "k = kernel.warmup(x, grid=(1,))\n"},
        Use{"compiled kernel handles (.n_regs)", "print(kernel[grid](x).n_regs)\n"},
        Use{"compiled kernel handles (.n_regs)", "getattr(handle, 'n_regs', None)\n"},
        Use{"tl.dot_scaled", "from some_package.kernels import product\n"},
        Use{"tl.dot_scaled", "import math, some_package.kernels as kernels\n"}));

TEST(Features, OfAnotherKindAreNoExcuse) {
  EXPECT_FALSE(may_use("k = kernel.warmup(x, grid=(1,))\n", missing("tl.dot_scaled")));
}

TEST(Features, InACommentAreNoUse) {
  EXPECT_FALSE(may_use("x = 1  # tl.dot_scaled\n", missing("tl.dot_scaled")));
}

TEST(Features, ThatNobodyKnowsAreNoExcuse) {
  EXPECT_FALSE(may_use("import triton\n", missing("a kernel that needs a later GPU")));
  EXPECT_FALSE(may_use("import some_package\n", missing("a kernel that needs a later GPU")));
}

TEST(Features, TheUsualImportsBringNone) {
  EXPECT_FALSE(
      may_use("import os, sys\nfrom __future__ import annotations\nimport numpy as np\n"
              "import torch.nn.functional as F\nimport triton\nfrom kernelwright._engine import errors\n",
              missing("tl.dot_scaled")));
}

TEST(Loops, AreForAndWhile) {
  EXPECT_TRUE(may_loop("def f():\n    while g():\n        pass\n"));
  EXPECT_TRUE(may_loop("for i in x:\n    pass\n"));
  EXPECT_TRUE(may_loop("import some_package\n"));
  EXPECT_FALSE(may_loop("def f(x):\n    return x + 1\n"));
}

}  // namespace
}  // namespace kw
