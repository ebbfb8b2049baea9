#include "dataset/pairs/refusals.h"

#include <gtest/gtest.h>

namespace kw::pairs {
namespace {

constexpr std::string_view norm = "def norm_ref(x, weight, eps=1e-6):\n    return x * weight\n";

TEST(CallDifference, OfOneInterfaceThereIsNone) {
  EXPECT_EQ(call_difference(norm, "def norm(x, weight, eps=1e-5, out=None):\n    return out\n"), "");
}

TEST(CallDifference, AParameterThatTheReferenceDoesNotHave) {
  EXPECT_EQ(call_difference(norm, "def norm(x, weight, rstd):\n    return x\n"),
            "it needs rstd, which the reference does not have");
}

TEST(CallDifference, AParameterThatTheReferenceHasADefaultFor) {
  EXPECT_EQ(call_difference(norm, "def norm(x, weight, eps):\n    return x\n"),
            "it needs eps, which the reference has a default for");
}

TEST(CallDifference, AParameterThatTheRewriteDoesNotTake) {
  EXPECT_EQ(call_difference(norm, "def norm(x):\n    return x\n"), "it does not take weight");
}

TEST(CallDifference, ParametersInAnotherOrder) {
  EXPECT_EQ(call_difference(norm, "def norm(weight, x):\n    return x\n"),
            "its parameters have another order");
}

TEST(CallDifference, AnotherNumberOfValues) {
  EXPECT_EQ(call_difference(norm, "def norm(x, weight):\n    return x, rstd\n"),
            "it returns another number of values");
  EXPECT_EQ(call_difference(norm, "def norm(x, weight):\n    return f(x)\n"), "");  // may return anything
  EXPECT_EQ(
      call_difference("def a(x, p=False):\n    return (x, p) if p else x\n", "def b(x):\n    return x\n"),
      "");
}

TEST(CallDifference, ANestedFunctionReturnsForItself) {
  EXPECT_EQ(call_difference(norm, "def norm(x, weight):\n    def g():\n        return 1, 2\n    return x\n"),
            "");
}

TEST(CallDifference, OfAClassNothingIsSaid) {
  EXPECT_EQ(call_difference("class Norm(nn.Module):\n    def forward(self, x):\n        return x\n", norm),
            "");
}

TEST(ClampsAlone, AKernelThatLimitsAValueByANumber) {
  EXPECT_TRUE(clamps_alone("def f(x):\n    return x.cumsum(0)\n", "y = tl.minimum(tl.cumsum(x, 0), 0.0)"));
  EXPECT_FALSE(clamps_alone("def f(x):\n    return x.cumsum(0).clamp(max=0)\n", "y = tl.minimum(y, 0.0)"));
  EXPECT_FALSE(clamps_alone("def f(x):\n    return x.cumsum(0)\n", "end = tl.minimum(end, n)"));
}

TEST(NameOfTwoThings, IsFoundInOneText) {
  EXPECT_EQ(name_of_two_things("import a\nfrom b import a\n"), "a");
  EXPECT_EQ(name_of_two_things("N = 1\n\ndef N():\n    pass\n"), "N");
  EXPECT_EQ(name_of_two_things("import a.b as c\nfrom a import b as c\n"), "");
  EXPECT_EQ(name_of_two_things("f = None\nf = 1\n"), "");
  EXPECT_EQ(name_of_two_things("def f():\n    pass\n\nf = wrapped(f)\n"), "");
  EXPECT_EQ(name_of_two_things("import torch\nimport torch.nn\n"), "");
  EXPECT_EQ(name_of_two_things("try:\n    import a\nexcept ImportError:\n    a = None\n"), "");
}

TEST(NameOfTwoThings, IsFoundInTwoTexts) {
  EXPECT_EQ(name_of_two_things("import torch.nn.functional as F\n", "F = 4\n"), "F");
  EXPECT_EQ(name_of_two_things("import torch.nn.functional as F\n", "from torch.nn import functional as F\n"),
            "");
  EXPECT_EQ(name_of_two_things("def norm(x):\n    pass\n", "def norm(x):\n    return x\n"), "");
}

}  // namespace
}  // namespace kw::pairs
