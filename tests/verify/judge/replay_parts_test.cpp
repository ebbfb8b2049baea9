// The parts of a replay verdict that need no GPU: places of outputs, origin of a kernel, kept recordings.
#include <gtest/gtest.h>

#include "verify/judge/devices.h"
#include "verify/judge/player.h"
#include "verify/judge/provenance.h"
#include "verify/judge/replays.h"
#include "verify/judge/statistics.h"
#include "verify/workers/installation.h"
#include "verify/workers/policy.h"

namespace kw::verify {
namespace {

wire::CallSpecT arena_of(std::uint64_t outputs_offset, std::uint64_t arena_bytes) {
  wire::CallSpecT spec;
  spec.outputs_offset = outputs_offset;
  spec.arena_bytes = arena_bytes;
  return spec;
}

wire::ValueT tensor(std::uint64_t address, std::uint64_t bytes, const char* device = "cuda") {
  wire::ValueT value;
  value.kind = wire::ValueKind::tensor;
  value.tensor = std::make_unique<wire::TensorT>();
  value.tensor->offset = address;
  value.tensor->bytes = bytes;
  value.tensor->device = device;
  return value;
}

wire::ValueT pair_of(wire::ValueT first, wire::ValueT second) {
  wire::ValueT value;
  value.kind = wire::ValueKind::tuple;
  value.items.push_back(std::make_unique<wire::ValueT>(std::move(first)));
  value.items.push_back(std::make_unique<wire::ValueT>(std::move(second)));
  return value;
}

TEST(OutputPlaces, EachOutputGetsAPlaceOfItsOwnBehindTheInputs) {
  auto places = place_outputs(pair_of(tensor(0x1000, 100), tensor(0x2000, 300)), arena_of(4096, 8192));
  ASSERT_TRUE(places.has_value());
  ASSERT_EQ(places->spans.size(), 2U);
  EXPECT_EQ(places->spans[0].address(), 0x1000U);
  EXPECT_EQ(places->spans[0].to(), 4096U);
  EXPECT_EQ(places->spans[1].to(), 4096U + 256U);
  EXPECT_EQ(places->outputs.items[1]->tensor->offset, 4096U + 256U);
}

TEST(OutputPlaces, AnEmptyOutputNeedsNoSpan) {
  auto places = place_outputs(tensor(0, 0), arena_of(4096, 8192));
  ASSERT_TRUE(places.has_value());
  EXPECT_TRUE(places->spans.empty());
}

TEST(OutputPlaces, AnOutputOnTheHostCannotBeReplayed) {
  EXPECT_FALSE(place_outputs(tensor(0, 0, "cpu"), arena_of(4096, 8192)).has_value());
}

TEST(OutputPlaces, MoreBytesThanThereIsRoomForAreRefused) {
  EXPECT_FALSE(place_outputs(tensor(0x1000, 4097), arena_of(4096, 8192)).has_value());
}

TEST(OutputPlaces, BytesThatWouldOverflowTheSumAreRefused) {
  EXPECT_FALSE(
      place_outputs(pair_of(tensor(1, 256), tensor(1, ~std::uint64_t{0} - 100)), arena_of(4096, 8192))
          .has_value());
}

constexpr std::uint64_t of_library = 7, of_candidate = 8;

Origins with_census(Origins origins) {
  origins.census = std::make_shared<const census::Census>(std::vector<std::uint64_t>{of_library});
  return origins;
}

TEST(Provenance, AttestedCodeIsTheCandidates) {
  EXPECT_EQ(whose({"ab", of_candidate}, with_census({.attested = {"ab"}})), "candidate");
  EXPECT_EQ(whose({"ab", of_candidate}, with_census({.attested = {"cd"}})), "unattested");
  EXPECT_FALSE(is_own("unattested", {.attested = {"cd"}}));
}

TEST(Provenance, WhatAReferenceLaunchedIsALibrarysWhoeverMakesItAgain) {
  EXPECT_EQ(whose({"ab", 0}, {.library = {"ab"}, .native_code = true}), "library");
  EXPECT_EQ(whose({"ab", 0}, {.attested = {"ab"}, .library = {"ab"}}), "library");
}

TEST(Provenance, CodeInTheCensusIsALibrarysBesideNativeCodeToo) {
  EXPECT_EQ(whose({"ab", of_library}, with_census({.native_code = true})), "library");
  EXPECT_EQ(whose({"ab", of_candidate}, with_census({.native_code = true})), "unattested");
}

// Triton made it from its IR, so it is no library's, whatever its bytes.
TEST(Provenance, AttestedCodeIsNotLookedUpInTheCensus) {
  EXPECT_EQ(whose({"ab", of_library}, with_census({.attested = {"ab"}})), "candidate");
}

// Their code is not in the census.
TEST(Provenance, NamesOfLibrariesDecideForTheRest) {
  Origins native =
      with_census({.native_code = true, .native_kernels = {"mine", "vectorized_elementwise_kernel", "k"}});
  for (const char* name : {"_ZN2at6native29vectorized_elementwise_kernelILi4E", "_ZN2at6native21kernelILi4E",
                           "nvjet_sm90_tst_64x8_64x16_2x4_h_bz_bias_TNT"})
    EXPECT_EQ(whose({"ab", of_candidate, name}, native), "library") << name;
}

TEST(Provenance, NativeCodeMayHaveALibrarysWordInItsName) {
  const Origins native = with_census({.native_code = true, .native_kernels = {"gemv_rows"}});
  for (const char* name : {"gemv_rows", "_Z9gemv_rowsPKfS0_Pfii", "_Z9gemv_rowsPN7cutlass6half_tE",
                           "_ZN3own9gemv_rowsEPKf", "_ZN55_GLOBAL__N__0c_7_cuda_cu_9gemv_rowsEPf"})
    EXPECT_EQ(whose({"ab", of_candidate, name}, native), "unattested") << name;
  EXPECT_EQ(whose({"ab", of_candidate, "_Z11gemv_kernelPf"}, native), "library");
}

TEST(Provenance, UnattestedCodeIsOwnOnlyWhereNativeCodeIsBuilt) {
  const Origins native = with_census({.native_code = true});
  EXPECT_TRUE(is_own("unattested", native));
  EXPECT_EQ(whose({"ab", of_candidate}, {}), "unattested");
  EXPECT_FALSE(is_own("unattested", {}));
  EXPECT_FALSE(is_own("library", native));
}

TEST(ReferenceTapes, WhatIsNotKnownIsNull) {
  ReferenceTapes tapes;
  EXPECT_EQ(tapes.find("a"), nullptr);
}

TEST(ReferenceTapes, TheEntryUsedLongestAgoGoesFirst) {
  ReferenceTapes tapes;
  for (int i = 0; i < 1024; ++i) tapes.put(std::to_string(i), {nullptr, "why " + std::to_string(i)});
  ASSERT_NE(tapes.find("0"), nullptr);
  tapes.put("one more", {nullptr, ""});
  EXPECT_NE(tapes.find("0"), nullptr);
  EXPECT_EQ(tapes.find("1"), nullptr);
}

TEST(ReferenceTapes, TheStateOfAllOfThemLiesOnTheDeviceAndIsBounded) {
  ReferenceTapes tapes;
  auto large = std::make_shared<Tape>();
  large->recorded.facts.state_bytes = std::uint64_t{1} << 30;
  for (const char* key : {"a", "b", "c"}) tapes.put(key, {large, ""});
  EXPECT_EQ(tapes.find("a"), nullptr);
  EXPECT_NE(tapes.find("b"), nullptr);
  EXPECT_NE(tapes.find("c"), nullptr);
}

TEST(ReferenceTapes, ANewEntryReplacesTheOldOne) {
  ReferenceTapes tapes;
  tapes.put("a", {nullptr, "first"});
  tapes.put("a", {nullptr, "second"});
  ASSERT_NE(tapes.find("a"), nullptr);
  EXPECT_EQ(tapes.find("a")->why_not, "second");
}

TEST(Clocks, ReasonsOfTheDriverBecomeWords) {
  EXPECT_EQ(throttle_words(0x1), "");  // idle
  EXPECT_EQ(throttle_words(0x4 | 0x40), "power cap, thermal slowdown by hardware");
}

TEST(Statistics, FewSamplesThatAgreeAreSettledWhereFewAreEnough) {
  std::vector<double> samples(12, 1.0);
  EXPECT_FALSE(is_settled(samples));
  EXPECT_TRUE(is_settled(samples, 12));
}

TEST(Installation, RecordsOnlyWhereBothPartsAreThere) {
  engine::Installation installation;
  EXPECT_FALSE(engine::records(installation));
  installation.recorder = "libkwrecorder.so";
  EXPECT_FALSE(engine::records(installation));
  installation.replayer = "kernelwright-replayer";
  EXPECT_TRUE(engine::records(installation));
}

TEST(Policy, AWorkersOwnEnvironmentTravelsWithIt) {
  engine::SpawnRequest request;
  request.role = engine::Role::replayer;
  request.environment = {"CUDA_DEVICE_MAX_CONNECTIONS=1"};
  wire::SpawnT message = engine::to_message(request, 3);
  EXPECT_EQ(message.role, "replayer");
  EXPECT_EQ(message.environment, request.environment);
}

}  // namespace
}  // namespace kw::verify
