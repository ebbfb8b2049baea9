#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harvest_world.h"

namespace kw::harvest {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string imports = "import triton\nimport triton.language as tl\n\n";

TEST(PythonUnit, GoesFromTheFirstDecoratorToTheEndOfTheBody) {
  std::string text =
      "@triton.autotune(configs=[], key=[])\n@triton.jit\ndef add(x, n: tl.constexpr = 4):\n"
      "    \"\"\"Adds.\"\"\"\n    tl.store(x, n)  # the last";
  auto units = python_units(imports + text + "\n\ny = 1\n");
  corpus::Unit unit = named(units, "add");
  EXPECT_EQ(unit.kind, corpus::UnitKind::triton);
  EXPECT_EQ(unit.text, text);
  EXPECT_EQ(unit.source.span, (corpus::Span{imports.size(), imports.size() + text.size()}));
  EXPECT_EQ(unit.doc, "Adds.");
  EXPECT_THAT(unit.decorators, ElementsAre("@triton.autotune(configs=[], key=[])", "@triton.jit"));
  EXPECT_THAT(unit.calls, ElementsAre("tl.store", "triton.autotune"));
}

TEST(PythonUnit, SignatureEndsBehindTheLineOfTheColon) {
  corpus::Unit unit =
      named(python_units(imports + "@triton.jit\ndef f(\n    x,\n):  # why\n    return x\n"), "f");
  EXPECT_EQ(unit.text.substr(unit.signature_bytes), "    return x");
}

TEST(PythonUnit, SignatureOfOneLineEndsAtItsColon) {
  corpus::Unit unit = named(python_units(imports + "@triton.jit\ndef f(x): return x\n"), "f");
  EXPECT_EQ(unit.text.substr(unit.signature_bytes), " return x");
}

TEST(PythonUnit, HasItsParametersAsWritten) {
  corpus::Unit unit = named(
      python_units(imports +
                   "@triton.jit\ndef f(x, N: tl.constexpr, B: tl.constexpr = 2, s=1.0, *rest):\n  pass\n"),
      "f");
  ASSERT_EQ(unit.parameters.size(), 5U);
  EXPECT_EQ(unit.parameters[0].name, "x");
  EXPECT_FALSE(unit.parameters[0].is_constexpr);
  EXPECT_EQ(unit.parameters[1].annotation, "tl.constexpr");
  EXPECT_TRUE(unit.parameters[2].is_constexpr);
  EXPECT_EQ(unit.parameters[2].preset, "2");
  EXPECT_EQ(unit.parameters[3].preset, "1.0");
  EXPECT_EQ(unit.parameters[4].name, "*rest");
}

TEST(PythonUnit, KnowsTheDecoratorByOtherNames) {
  for (std::string code : {"from triton import jit\n@jit\ndef f(x): pass\n",
                           "import triton as t\n@t.jit(do_not_specialize=['x'])\ndef f(x): pass\n",
                           "from triton import jit as kernel\n@libentry()\n@kernel\ndef f(x): pass\n"})
    EXPECT_EQ(python_units(code).size(), 1U) << code;
}

TEST(PythonUnit, LeavesOtherCompilersAlone) {
  for (std::string code : {"# triton\nfrom numba import jit\n@jit\ndef f(x): pass\n",
                           "# triton\nimport torch\n@torch.jit.script\ndef f(x): pass\n",
                           "from triton.experimental import gluon\n@gluon.jit\ndef f(x): pass\n"})
    EXPECT_THAT(python_units(code), IsEmpty()) << code;
}

TEST(PythonUnit, IsFoundInsideAFunction) {
  auto units = python_units(
      "def make():\n    import triton\n    import triton.language as tl\n    @triton.jit\n    def half(x):\n"
      "        return x / 2\n    @triton.jit\n    def f(x):\n        tl.store(x, half(1))\n    return f\n");
  corpus::Unit unit = named(units, "f");
  EXPECT_THAT(unit.missing, IsEmpty());
  EXPECT_THAT(unit.context, HasSubstr("import triton.language as tl\n"));
  EXPECT_THAT(unit.context, HasSubstr("@triton.jit\ndef half(x):\n    return x / 2\n"));
}

TEST(PythonUnit, LiesInARegionOfWholeStatements) {
  Options options{.region_bytes = 30};
  std::string before = "a = 1\nb = 2\n\n", text = "@triton.jit\ndef f(x):\n    pass";
  std::string after = "\n\nc = 3\n\ndef long(x):\n    return x + 1 + 2\n";
  auto units = units_of({{"a.py", imports + before + text + after}}, options);
  corpus::Unit unit = named(units, "f");
  EXPECT_EQ(unit.region.substr(unit.source.span.begin - unit.region_begin, text.size()), text);
  EXPECT_EQ(unit.region, "\na = 1\nb = 2\n\n" + text + "\n\nc = 3\n");
}

TEST(PythonUnit, OfTorchHasNoTriton) {
  auto units = python_units(
      "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
      "class Net(nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n"
      "def norm_ref(x):\n    return F.layer_norm(x, [4])\n"
      "def plain(x):\n    return x + 1\n");
  ASSERT_EQ(units.size(), 2U);
  EXPECT_EQ(units[0].name, "Net");
  EXPECT_EQ(units[0].kind, corpus::UnitKind::torch);
  EXPECT_EQ(units[0].parameters.at(0).name, "x");
  EXPECT_EQ(units[1].name, "norm_ref");
}

TEST(PythonUnit, OfTorchLaunchesNoKernelNotEvenThroughOthers) {
  auto units = python_units(imports +
                            "import torch\n@triton.jit\ndef k(x): pass\n"
                            "def launch(x):\n    k[(1,)](x)\n"
                            "def silu_torch(x):\n    launch(x)\n    return torch.relu(torch.abs(x))\n");
  ASSERT_EQ(units.size(), 1U);
  EXPECT_EQ(units[0].name, "k");
}

}  // namespace
}  // namespace kw::harvest
