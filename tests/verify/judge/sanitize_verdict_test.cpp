// --sanitize: further checks of a right result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "verdict_world.h"
#include "verify/judge/edges.h"
#include "verify/judge/sanitizers.h"

namespace kw::verify {
namespace {

using namespace test;
using testing::ElementsAre;
using wire::Body;

// "bounds clean", "memcheck not_run: needs a GPU".
std::vector<std::string> checks_of(const Verdict& verdict) {
  std::vector<std::string> words;
  if (!verdict.sanitized) return words;
  for (const SanitizerCheck& each : *verdict.sanitized) {
    std::string& text = words.emplace_back(to_string(each.check));
    text += " " + std::string(to_string(each.outcome));
    if (each.why_not) text += ": " + *each.why_not;
  }
  return words;
}

TEST(Sanitize, IsNullWhereNothingWasAsked) {
  VerdictWorld world(Device::cpu);
  EXPECT_FALSE(world.run().sanitized);
}

TEST(Sanitize, IsNullWhereTheResultIsWrong) {
  VerdictWorld world(Device::cpu);
  world.settings.sanitize = {Sanitizer::bounds};
  world.fake.when("oracle", Body::Judge, judges_wrong());
  EXPECT_FALSE(world.run().sanitized);
}

TEST(Sanitize, WithoutAGpuBoundsAreCleanAndToolsDoNotRun) {
  VerdictWorld world(Device::cpu);
  world.settings.sanitize = {Sanitizer::bounds, Sanitizer::memcheck, Sanitizer::racecheck};
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_THAT(checks_of(verdict),
              ElementsAre("bounds clean", "memcheck not_run: needs a GPU", "racecheck not_run: needs a GPU"));
}

// ---- bounds on a GPU

wire::TensorT tensor_at(std::uint64_t offset, std::uint64_t bytes) {
  wire::TensorT tensor;
  tensor.offset = offset;
  tensor.bytes = bytes;
  return tensor;
}

std::unique_ptr<wire::ValueT> value_at(std::uint64_t offset, std::uint64_t bytes) {
  auto value = std::make_unique<wire::ValueT>();
  value->kind = wire::ValueKind::tensor;
  value->tensor = std::make_unique<wire::TensorT>(tensor_at(offset, bytes));
  return value;
}

// Inputs x, y, ... at these places.
void give_inputs(wire::CallSpecT& spec, const std::vector<std::pair<std::uint64_t, std::uint64_t>>& places) {
  spec.inputs = std::make_unique<wire::ValueT>();
  spec.inputs->kind = wire::ValueKind::list;
  spec.input_names.clear();
  for (const auto& [offset, bytes] : places) {
    spec.inputs->items.push_back(value_at(offset, bytes));
    spec.input_names.emplace_back(1, static_cast<char>('x' + spec.input_names.size()));
  }
}

constexpr std::uint64_t place_of_x = 0, place_of_y = 1024;
const char* const refused_address = "RuntimeError: CUDA error: an illegal memory access was encountered";

// A task with a large input x and a small one y, and a kernel whose calls fault where `faults` says so.
class SanitizeBounds : public testing::TestWithParam<Path> {
 protected:
  SanitizeBounds() {
    world.settings.replay = GetParam() == Path::replay;
    world.settings.sanitize = {Sanitizer::bounds};
    give_inputs(world.fake.spec, {{place_of_x, 512}, {place_of_y, 64}});
    world.fake.when("plain runner", Body::Call, [this](const auto& asked, Reaction& usual) {
      const wire::CallT& call = *asked.AsCall();
      if (call.at_edge.empty()) return;
      calls.push_back(call);
      if (!faults(call)) return;
      fails("run", "illegal_memory_access", error)(asked, usual);
      if (call.waits) static_cast<wire::FailedT*>(usual.answer.value)->kernel = kernel;
    });
  }

  static bool has(const wire::CallT& call, std::uint64_t place) {
    return std::ranges::find(call.at_edge, place) != call.at_edge.end();
  }

  VerdictWorld world;
  std::function<bool(const wire::CallT&)> faults = [](const wire::CallT&) { return false; };
  std::string error = refused_address;
  std::string kernel = "add_kernel";
  std::vector<wire::CallT> calls = {};  // with inputs at an edge
};

INSTANTIATE_TEST_SUITE_P(OnBothPaths, SanitizeBounds, testing::Values(Path::replay, Path::in_process));

TEST_P(SanitizeBounds, AreCleanAfterOneCallWithAllInputsAtAnEdge) {
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_THAT(checks_of(verdict), ElementsAre("bounds clean"));
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_THAT(calls[0].at_edge, ElementsAre(place_of_x, place_of_y));
  EXPECT_FALSE(calls[0].waits);
}

TEST_P(SanitizeBounds, AreNotTriedUnlessAsked) {
  world.settings.sanitize.clear();
  faults = [](const wire::CallT&) { return true; };
  EXPECT_EQ(world.run().status, Status::correct);
  EXPECT_TRUE(calls.empty());
}

TEST_P(SanitizeBounds, AFaultNamesKernelAndTensor) {
  faults = [](const wire::CallT& call) { return has(call, place_of_y); };
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::failed);
  EXPECT_EQ(verdict.fault, Fault::kernel);
  EXPECT_EQ(verdict.error_class, ErrorClass::out_of_bounds);
  EXPECT_EQ(verdict.error, "kernel add_kernel: access beyond the end of input y (--sanitize bounds)");
  EXPECT_FALSE(verdict.speedup);
  EXPECT_THAT(checks_of(verdict), ElementsAre("bounds found"));
  const SanitizerFinding& finding = verdict.sanitized->front().findings.front();
  EXPECT_EQ(finding.kernel, "add_kernel");
  EXPECT_EQ(finding.tensor, "input y");
}

TEST_P(SanitizeBounds, AFaultWithoutANamedKernelCountsToo) {
  faults = [](const wire::CallT& call) { return has(call, place_of_x); };
  kernel.clear();
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.error, "a kernel: access beyond the end of input x (--sanitize bounds)");
}

TEST_P(SanitizeBounds, AFaultOfTwoTensorsTogetherNamesNone) {
  faults = [](const wire::CallT& call) { return call.at_edge.size() == 2; };
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::failed);
  EXPECT_FALSE(verdict.sanitized->front().findings.front().tensor);
}

TEST_P(SanitizeBounds, AFaultThatDoesNotComeAgainIsNoFinding) {
  faults = [](const wire::CallT& call) { return !call.waits; };
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_THAT(checks_of(verdict), ElementsAre("bounds not_run: a fault of the device did not come again"));
}

TEST_P(SanitizeBounds, AMisalignedAddressProvesNothing) {
  faults = [](const wire::CallT&) { return true; };
  error = "RuntimeError: CUDA error: misaligned address";
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_THAT(checks_of(verdict), ElementsAre("bounds not_run: " + error));
}

TEST_P(SanitizeBounds, AnotherFailureThereProvesNothing) {
  world.fake.when("plain runner", Body::Call, [](const auto& asked, Reaction& usual) {
    if (!asked.AsCall()->at_edge.empty()) fails("run", "out_of_memory", "CUDA out of memory")(asked, usual);
  });
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::correct);
  EXPECT_THAT(checks_of(verdict), ElementsAre("bounds not_run: CUDA out of memory"));
}

TEST_P(SanitizeBounds, AWrongResultThereIsAWrongResult) {
  world.fake.when("oracle", Body::Judge, [this](const auto& asked, Reaction& usual) {
    if (!calls.empty()) judges_wrong()(asked, usual);
  });
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.status, Status::incorrect);
  EXPECT_EQ(verdict.error_class, ErrorClass::wrong_value);
  EXPECT_THAT(verdict.error.value_or(""), testing::StartsWith("with inputs that end at unmapped pages: "));
}

TEST_P(SanitizeBounds, WithoutAnInputThereIsNothingToPlace) {
  world.fake.spec.inputs.reset();
  EXPECT_THAT(checks_of(world.run()),
              ElementsAre("bounds not_run: no input or weight has memory of its own"));
}

std::vector<std::string> names_of(const std::vector<EdgeTensor>& tensors) {
  std::vector<std::string> names;
  for (const EdgeTensor& each : tensors) names.push_back(each.name);
  return names;
}

TEST(EdgeTensors, AreTheLargestOfInputsAndWeights) {
  wire::CallSpecT spec;
  give_inputs(spec, {{0, 8}, {100, 80}});
  auto& weight = spec.weights.emplace_back(std::make_unique<wire::NamedTensorT>());
  weight->name = "w";
  weight->tensor = std::make_unique<wire::TensorT>(tensor_at(200, 40));
  EXPECT_THAT(names_of(edge_tensors(spec, 9)), ElementsAre("input y", "input x", "weight w"));
  EXPECT_THAT(names_of(edge_tensors(spec, 1)), ElementsAre("input y"));
}

TEST(EdgeTensors, ThatShareMemoryAreLeftOut) {
  wire::CallSpecT spec;
  give_inputs(spec, {{0, 64}, {32, 64}, {96, 8}});
  EXPECT_THAT(names_of(edge_tensors(spec, 9)), ElementsAre("input z"));
}

TEST(EdgeTensors, TheSameTensorTwiceIsOne) {
  wire::CallSpecT spec;
  give_inputs(spec, {{64, 64}, {64, 64}});
  EXPECT_THAT(names_of(edge_tensors(spec, 9)), ElementsAre("input x"));
}

TEST(EdgeTensors, WithoutBytesAreLeftOut) {
  wire::CallSpecT spec;
  give_inputs(spec, {{0, 0}});
  EXPECT_TRUE(edge_tensors(spec, 9).empty());
}

// ---- findings

TEST(Sanitize, AFindingNamesKernelTensorAndPlace) {
  const Blame blame = blame_sanitized(
      Sanitizer::memcheck,
      {.kind = "read of 4 bytes", .kernel = "add", .tensor = "input x", .place = "kernel.py:7"});
  EXPECT_EQ(blame.status, Status::failed);
  EXPECT_EQ(blame.fault, Fault::kernel);
  EXPECT_EQ(blame.error_class, ErrorClass::out_of_bounds);
  EXPECT_EQ(blame.error, "kernel add: read of 4 bytes of input x at kernel.py:7 (--sanitize memcheck)");
}

TEST(Sanitize, AHazardIsARaceAndAWrongResult) {
  const Blame blame = blame_sanitized(Sanitizer::racecheck, {.kind = "hazard"});
  EXPECT_EQ(blame.status, Status::incorrect);
  EXPECT_EQ(blame.error_class, ErrorClass::race);
  EXPECT_EQ(blame.error, "a kernel: hazard (--sanitize racecheck)");
}

}  // namespace
}  // namespace kw::verify
