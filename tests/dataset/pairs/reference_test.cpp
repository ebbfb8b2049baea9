#include "dataset/pairs/match.h"

#include <gmock/gmock.h>

#include "world.h"

namespace kw::pairs {
namespace {

using corpus::Unit;
using corpus::UnitKind;
using test::Function;

Unit torch_unit(const std::string& name, const std::string& text, std::vector<std::string> calls = {}) {
  Unit unit = test::unit_of(Function{
      .kind = UnitKind::torch, .name = name, .parameters = {}, .text = text, .path = "a.py", .launcher = {}});
  unit.calls = std::move(calls);
  return unit;
}

Unit kernel() {
  return test::unit_of(Function{.kind = UnitKind::triton,
                                .name = "norm_kernel",
                                .parameters = {},
                                .text = {},
                                .path = "b.py",
                                .launcher = "NormFunction.forward"});
}

bool is_one(const Unit& unit, const std::vector<Unit>& others = {}) {
  std::vector<Unit> units = others;
  units.push_back(kernel());
  units.push_back(unit);
  return is_reference(unit, names_that_launch(units));
}

TEST(Reference, CodeThatOnlyComputesWithPyTorchIsOne) {
  EXPECT_TRUE(is_one(torch_unit("norm_ref", "return x / x.norm()", {"x.norm", "torch.sqrt"})));
}

TEST(Reference, WhatCallsALauncherIsNone) {
  EXPECT_FALSE(is_one(torch_unit("Norm", "", {"NormFunction.apply"})));
}

TEST(Reference, WhatLeadsToALauncherThroughOthersIsNone) {
  Unit wrapper = torch_unit("norm", "", {"NormFunction.apply"});
  EXPECT_FALSE(is_one(torch_unit("Layer", "", {"norm"}), {wrapper}));
}

TEST(Reference, AMethodOfTheSameNameAsALauncherIsNoLaunch) {
  EXPECT_TRUE(is_one(torch_unit("norm_ref", "", {"torch.NormFunction"})));
}

TEST(Reference, KernelsByOtherMeansAreNone) {
  EXPECT_FALSE(is_one(torch_unit("norm", "ct.launch(stream, grid, kernel, (x,))")));
  EXPECT_FALSE(is_one(torch_unit("norm", "return torch.ops.mine.norm(x)")));
  Unit tiled = torch_unit("norm", "kernel(x)");
  tiled.context = "import tilelang\n";
  EXPECT_FALSE(is_one(tiled));
}

TEST(Reference, AutogradFunctionsOfSomebodysMakingAreNone) {
  EXPECT_FALSE(is_one(torch_unit("Norm", "return OtherFunction.apply(x)")));
  EXPECT_TRUE(is_one(torch_unit("Norm", "self.apply(self.reset)")));
}

TEST(Reference, AStandInForShapesIsNone) {
  EXPECT_FALSE(is_one(torch_unit("_fake_norm", "return torch.empty_like(x)")));
}

}  // namespace
}  // namespace kw::pairs
