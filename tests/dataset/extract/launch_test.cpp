#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harvest_world.h"

namespace kw::harvest {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

const std::string kernel = "import triton\n@triton.jit\ndef k(x, N): pass\n";

TEST(Launch, HasItsCallerGridAndArguments) {
  corpus::Unit unit = named(python_units(kernel + "def go(x):\n    k[(4, 2)](x.t(), N=3)\n"), "k");
  ASSERT_THAT(unit.launches, SizeIs(1));
  const corpus::Launch& launch = unit.launches[0];
  EXPECT_EQ(launch.caller, "go");
  EXPECT_EQ(launch.caller_text, "def go(x):\n    k[(4, 2)](x.t(), N=3)");
  EXPECT_EQ(launch.grid, "(4, 2)");
  ASSERT_THAT(launch.arguments, SizeIs(2));
  EXPECT_EQ(launch.arguments[0].text, "x.t()");
  EXPECT_EQ(launch.arguments[1].name, "N");
  EXPECT_EQ(launch.arguments[1].text, "3");
}

TEST(Launch, IsFoundInOtherFiles) {
  auto units = units_of({{"pkg/__init__.py", "from .kernels import k\n"},
                         {"pkg/kernels.py", kernel},
                         {"pkg/use.py", "from pkg import k as fast\ndef go(x):\n    fast[(1,)](x, 1)\n"},
                         {"pkg/not.py", "def go(k):\n    q[(1,)](k, 1)\n"}});
  EXPECT_THAT(named(units, "k").launches, SizeIs(1));
}

TEST(Launch, IsFoundThroughRunAWrapperAndALocalName) {
  corpus::Unit unit = named(python_units(kernel + "fast = triton.autotune([], [])(k)\n"
                                                  "def go(x):\n    k.run(x, 1, grid=(1,), warmup=False)\n"
                                                  "    fast[(2,)](x, 2)\n"
                                                  "    chosen = k if x else None\n    chosen[(3,)](x, 3)\n"),
                            "k");
  EXPECT_THAT(unit.launches, SizeIs(3));
  EXPECT_EQ(unit.launches[0].grid, "(1,)");
}

TEST(Launch, HasACallerNoLongerThanItMayBe) {
  std::string filler;
  for (int i = 0; i < 2'000; ++i) filler += "    y = x + " + std::to_string(i) + "\n";
  corpus::Unit unit =
      named(python_units(kernel + "def go(x):\n" + filler + "    k[(1,)](x, 1)\n" + filler), "k");
  ASSERT_THAT(unit.launches, SizeIs(1));
  EXPECT_LE(unit.launches[0].caller_text.size(), 16U * 1024);
  EXPECT_THAT(unit.launches[0].caller_text, testing::HasSubstr("k[(1,)](x, 1)"));
}

TEST(Launch, OfCudaHasItsBracketsAndArguments) {
  corpus::Unit unit = named(cuda_units("template <int B>\n__global__ void k(float* x, int n) { x[0] = n; }\n"
                                       "void go(float* x) { k<4><<<dim3(2), 64, 0, stream>>>(x, 5); }\n"),
                            "k");
  ASSERT_THAT(unit.launches, SizeIs(1));
  EXPECT_EQ(unit.launches[0].caller, "go");
  EXPECT_EQ(unit.launches[0].grid, "dim3(2), 64, 0, stream");
  ASSERT_THAT(unit.launches[0].arguments, SizeIs(2));
  EXPECT_EQ(unit.launches[0].arguments[1].text, "5");
}

}  // namespace
}  // namespace kw::harvest
