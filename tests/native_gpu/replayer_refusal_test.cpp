// Recordings that a replayer refuses, and its failures.
#include <gtest/gtest.h>

#include "replayer_world.h"
#include "verify/recording/elf.h"
#include "worker.h"

namespace kw::replayer {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

ReplayWorld& with_launch(ReplayWorld& world) {
  world.launch("set", heap, 1);
  return world;
}

TEST(ReplayRefusal, AnHonestRecordingIsDescribed) {
  ReplayWorld world;
  auto reply = with_launch(world).loaded();
  ASSERT_EQ(reply.launches.size(), 1U);
  EXPECT_EQ(reply.launches[0]->name, "set");
  EXPECT_EQ(reply.launches[0]->grid, (std::vector<std::uint64_t>{4, 1, 1}));
  EXPECT_EQ(reply.launches[0]->num_warps, 4U);
  EXPECT_EQ(reply.launches[0]->registers, 40);
  EXPECT_EQ(reply.compute_capability, 99U);
  EXPECT_EQ(reply.launches[0]->spills, 4);
  EXPECT_EQ(reply.launches[0]->cubin_sha256, world.world.recording.cubins[0]->sha256);
  const auto& image = world.world.recording.cubins[0]->image;
  EXPECT_EQ(reply.launches[0]->code, recording::code_key(recording::Elf::of(image)->code_of("set")));
  EXPECT_NE(reply.launches[0]->code, 0U);
}

TEST(ReplayRefusal, AMalformedFile) {
  ReplayWorld world;
  with_launch(world).world.recording.version = 99;
  EXPECT_THAT(world.refusal(), StartsWith("unsupported_candidate: the recording is malformed"));
}

TEST(ReplayRefusal, AnObstacleIsNamed) {
  ReplayWorld world;
  with_launch(world).world.add_obstacle("driver call", "cuMemAllocAsync");
  EXPECT_THAT(world.refusal(), HasSubstr("cuMemAllocAsync"));
}

TEST(ReplayRefusal, AnOutputWhereNoMemoryIs) {
  for (std::uint64_t address : {heap + (1 << 20), heap + (1 << 20) - 2, arena + 65536, std::uint64_t{64}}) {
    ReplayWorld world;
    with_launch(world).add_output(address);
    EXPECT_THAT(world.refusal(), StartsWith("unsupported_candidate: an output of 4 bytes lies at"));
  }
}

TEST(ReplayRefusal, AnOutputBesideItsRoom) {
  for (std::uint64_t to : {outputs_offset - 1, std::uint64_t{65533}, ~std::uint64_t{0}}) {
    ReplayWorld world;
    with_launch(world).request.outputs.emplace_back(heap, 4, to);
    EXPECT_THAT(world.refusal(), StartsWith("infrastructure: an output would lie"));
  }
}

TEST(ReplayRefusal, InputsThatLayElsewhere) {
  ReplayWorld world;
  with_launch(world).request.arena_address = arena + (1 << 20);
  EXPECT_THAT(world.refusal(), HasSubstr("lay elsewhere"));
}

TEST(ReplayRefusal, StateWithoutItsMemory) {
  ReplayWorld world;
  with_launch(world).add_state(heap + (2 << 20), 1);
  EXPECT_THAT(world.refusal(), HasSubstr("state lies where no memory was"));
}

TEST(ReplayRefusal, ParametersThatTheFunctionDoesNotTake) {
  for (std::vector<std::uint64_t> sizes : {std::vector<std::uint64_t>{8}, {8, 8}, {8, 4, 4}}) {
    ReplayWorld world;
    with_launch(world).driver.kernels["set"].sizes = sizes;
    EXPECT_THAT(world.refusal(), HasSubstr("set was given"));
  }
}

TEST(ReplayRefusal, AModuleThatTheDriverRefuses) {
  ReplayWorld world;
  world.worker();
  with_launch(world).driver.refuse["cuModuleLoadData"] = CUDA_ERROR_INVALID_IMAGE;
  EXPECT_THAT(world.refusal(), StartsWith("unsupported_candidate: loading a module"));
}

TEST(ReplayRefusal, MoreMemoryThanIsFree) {
  ReplayWorld world;
  with_launch(world).driver.free_bytes = 4096;
  EXPECT_THAT(world.refusal(), HasSubstr("does not fit"));
}

TEST(ReplayRefusal, AReplayerStillServesAfterARefusal) {
  ReplayWorld world;
  with_launch(world).world.recording.version = 99;
  EXPECT_FALSE(world.refusal().empty());
  world.world.recording.version = recording::version;
  EXPECT_EQ(world.refusal(), "");
  EXPECT_FALSE(world.worker().spent());
}

TEST(ReplayFault, AnIllegalAccessIsTheKernelsAndTheLastThing) {
  ReplayWorld world;
  world.launch("set", 4096, 1);
  world.loaded();
  auto failed = world.failure();
  EXPECT_EQ(failed.stage, "replay");
  EXPECT_EQ(failed.error_class, "illegal_memory_access");
  EXPECT_THAT(failed.error, HasSubstr("the launch of set: CUDA_ERROR_ILLEGAL_ADDRESS"));
  EXPECT_TRUE(world.worker().spent());
}

TEST(ReplayFault, AnIllegalAccessBehindTheGateOpensIt) {
  ReplayWorld world;
  world.launch("set", heap, 1);
  world.loaded();
  world.replayed();
  world.driver.kernels["set"].body = [](fake::Run&) { return CUDA_ERROR_ILLEGAL_ADDRESS; };
  EXPECT_EQ(world.failure(timed()).error_class, "illegal_memory_access");
  EXPECT_FALSE(world.driver.gate_closed());
}

TEST(ReplayFault, ALaunchThatIsRefusedHangsNothing) {
  ReplayWorld world;
  world.launch("set", heap, 1);
  world.loaded();
  world.replayed();
  world.driver.refuse["set"] = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  auto failed = world.failure(timed());
  EXPECT_EQ(failed.error_class, "out_of_resources");
  EXPECT_THAT(failed.error, StartsWith("the launch of set"));
  EXPECT_FALSE(world.driver.gate_closed());
  EXPECT_FALSE(world.worker().spent());
}

TEST(ReplayFault, AnEmptySlotAndAForeignLaunchAreOurOwnMistakes) {
  ReplayWorld world;
  EXPECT_EQ(world.failure().error_class, "infrastructure");
  with_launch(world).loaded();
  wire::ReplayT request;
  request.skip = {1};
  EXPECT_EQ(world.failure(request).error_class, "infrastructure");
}

TEST(ReplayStart, AnAddressThatIsNotHonoured) {
  fake::FakeDriver driver;
  driver.hints_honoured = false;
  auto worker = Worker::start(driver.table(), 0);
  ASSERT_FALSE(worker.has_value());
  EXPECT_THAT(worker.error().error, HasSubstr("0x300000000000"));
}

TEST(ReplayStart, AProbeTellsWhatIsThere) {
  fake::FakeDriver driver;
  driver.kernels[GapKernel::name] = {};
  Probe found = probe(driver.table(), 0);
  EXPECT_THAT(found.missing, IsEmpty());
  EXPECT_THAT(found.json, HasSubstr("\"replay\":true"));
}

TEST(ReplayStart, AProbeTellsWhatIsMissing) {
  fake::FakeDriver driver;
  driver.refuse["cuStreamWaitValue32"] = CUDA_ERROR_NOT_SUPPORTED;
  Probe found = probe(driver.table(), 0);
  EXPECT_THAT(found.missing, StartsWith("closing the gate"));
  EXPECT_THAT(found.json, HasSubstr("\"replay\":false"));
}

}  // namespace
}  // namespace kw::replayer
