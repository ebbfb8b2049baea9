#include <cstring>

#include "modules.h"
#include "recorder_world.h"

namespace kw::recorder {
namespace {

using recording::LaunchT;
using testing::ElementsAre;

TEST(ALaunch, IsWrittenDownWithItsShape) {
  World world;
  CUfunction add = world.load("add");
  world.begin();
  world.launch(add, arena_address);
  auto recording = world.ended();
  const auto& launch = work<LaunchT>(recording, 0);
  EXPECT_EQ(launch.name, "add");
  EXPECT_EQ(launch.grid->x(), 4);
  EXPECT_EQ(launch.block->x(), 128);
  EXPECT_EQ(launch.shared_bytes, 256);
  EXPECT_EQ(launch.max_dynamic_shared_bytes, 49152);
  EXPECT_EQ(world.obstacles(recording), "");
}

TEST(ALaunch, HasItsParametersWhereTheKernelWantsThem) {
  World world;
  CUfunction add = world.load("add", {4, 8});
  int first = 7;
  std::uint64_t second = arena_address + 64;
  void* values[] = {&first, &second};
  cuLaunchKernel_params p{add, 1, 1, 1, 32, 1, 1, 0, nullptr, values, nullptr};
  world.begin();
  world.call(KW_ID(cuLaunchKernel), "cuLaunchKernel", p);
  auto recording = world.ended();
  const auto& launch = work<LaunchT>(recording, 0);
  ASSERT_EQ(launch.parameters.size(), 16);
  EXPECT_EQ(launch.parameters[0], 7);
  EXPECT_EQ(std::memcmp(launch.parameters.data() + 8, &second, 8), 0);
  ASSERT_EQ(launch.layout.size(), 2);
  EXPECT_EQ(launch.layout[1].offset(), 8);
}

TEST(ALaunch, KeepsTheWholeBufferOfPackedParameters) {
  World world;
  CUfunction add = world.load("add");
  char buffer[24] = "sixteen bytes and more";
  std::size_t bytes = sizeof buffer;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  cuLaunchKernel_params p{add, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra};
  world.begin();
  world.call(KW_ID(cuLaunchKernel), "cuLaunchKernel", p);
  auto recording = world.ended();
  const auto& launch = work<LaunchT>(recording, 0);
  EXPECT_TRUE(launch.packed);
  EXPECT_EQ(std::string(launch.parameters.begin(), launch.parameters.end()), std::string(buffer, 24));
}

TEST(ALaunch, CarriesTheCubinItComesFromAndNoOther) {
  World world;
  world.load("other");
  CUfunction add = world.load("add");
  world.begin();
  world.launch(add, arena_address);
  world.launch(add, arena_address);
  auto recording = world.ended();
  ASSERT_EQ(recording.cubins.size(), 1);
  EXPECT_EQ(recording.cubins[0]->image, recording::image_of({.kernels = {"add"}, .globals = {}}));
}

TEST(ALaunch, IsUnderstoodWhereTheRuntimePassesAKernelForAFunction) {
  World world;
  CUfunction add = world.load("add");
  auto kernel = reinterpret_cast<CUkernel>(reinterpret_cast<std::uintptr_t>(add) + 1);
  cuLibraryGetKernel_params p{&kernel, nullptr, "add"};
  world.call(KW_ID(cuLibraryGetKernel), "cuLibraryGetKernel", p);
  world.begin();
  world.launch(reinterpret_cast<CUfunction>(kernel), arena_address);
  auto recording = world.ended();
  EXPECT_EQ(work<LaunchT>(recording, 0).name, "add");
}

TEST(ALaunch, ThatFailedIsNotWrittenDown) {
  World world;
  CUfunction add = world.load("add");
  world.begin();
  world.launch(add, arena_address, nullptr, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  EXPECT_EQ(world.ended().operations.size(), 0);
}

TEST(ALaunch, BeforeTheRecordingIsNotPartOfIt) {
  World world;
  CUfunction add = world.load("add");
  world.launch(add, arena_address);
  world.begin();
  EXPECT_EQ(world.ended().operations.size(), 0);
}

TEST(ALaunch, OnACapturingStreamIsNoWorkYet) {
  World world;
  CUfunction add = world.load("add");
  world.capturing.insert(World::stream(0x700));
  world.begin();
  world.launch(add, arena_address, World::stream(0x700));
  EXPECT_EQ(world.ended().operations.size(), 0);
}

TEST(ALaunch, WithAPointerToMemoryOfOthersIsAnObstacle) {
  World world;
  CUfunction add = world.load("add");
  world.foreign.insert(0x7f0000001000);
  world.begin();
  world.launch(add, 0x7f0000001000);
  EXPECT_EQ(world.obstacles(world.ended()), "foreign pointer: add\n");
}

TEST(ALaunch, MayPointIntoTheHeap) {
  World world;
  CUfunction add = world.load("add");
  std::uint64_t block = world.allocate(4096);
  world.foreign.insert(block);  // the driver reports it as device memory
  world.begin();
  world.launch(add, block);
  EXPECT_EQ(world.obstacles(world.ended()), "");
}

TEST(ALaunch, OfAKernelWithoutAKnownCubinIsAnObstacle) {
  World world;
  auto unknown = reinterpret_cast<CUfunction>(0x9990);
  world.kernels[unknown] = {reinterpret_cast<CUmodule>(0x9980), "from_nowhere", {8, 4}};
  world.begin();
  world.launch(unknown, arena_address);
  auto recording = world.ended();
  EXPECT_EQ(world.obstacles(recording), "no cubin: from_nowhere\n");
  EXPECT_EQ(recording.operations.size(), 0);
}

struct LaunchWith {
  CUlaunchAttribute attribute{};
  recording::RecordingT recorded(World& world) {
    CUlaunchConfig config{};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
    std::uint64_t at = arena_address;
    int count = 1;
    void* values[] = {&at, &count};
    cuLaunchKernelEx_params p{&config, world.load("add"), values, nullptr};
    world.begin();
    world.call(KW_ID(cuLaunchKernelEx), "cuLaunchKernelEx", p);
    return world.ended();
  }
};

TEST(ALaunch, KeepsItsAttributes) {
  World world;
  LaunchWith cluster;
  cluster.attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster.attribute.value.clusterDim = {2, 1, 1};
  auto recording = cluster.recorded(world);
  const auto& launch = work<LaunchT>(recording, 0);
  ASSERT_EQ(launch.attributes.size(), 1);
  EXPECT_EQ(launch.attributes[0]->id, 4);
  EXPECT_EQ(launch.attributes[0]->value[0], 2);
}

TEST(ALaunch, TiedToAnEventByAnAttributeIsAnObstacle) {
  World world;
  LaunchWith event;
  event.attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT;
  EXPECT_EQ(world.obstacles(event.recorded(world)), "launch attribute: 7\n");
}

TEST(ALaunch, ThatIsCooperativeSaysSo) {
  World world;
  CUfunction add = world.load("add");
  std::uint64_t at = arena_address;
  int count = 1;
  void* values[] = {&at, &count};
  cuLaunchCooperativeKernel_params p{add, 1, 1, 1, 32, 1, 1, 0, nullptr, values};
  world.begin();
  world.call(KW_ID(cuLaunchCooperativeKernel), "cuLaunchCooperativeKernel", p);
  auto recording = world.ended();
  ASSERT_EQ(work<LaunchT>(recording, 0).attributes.size(), 1);
  EXPECT_EQ(work<LaunchT>(recording, 0).attributes[0]->id, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
}

TEST(TwoModules, WithAKernelOfOneNameAreToldApart) {
  World world;
  CUfunction first = world.load("same", {8, 4}, {{"of_first", "abcd"}});
  CUfunction second = world.load("same", {8, 4}, {{"of_second", "efgh"}});
  world.begin();
  world.launch(first, arena_address);
  world.launch(second, arena_address);
  auto recording = world.ended();
  ASSERT_EQ(recording.cubins.size(), 2);
  EXPECT_EQ(recording.cubins[work<LaunchT>(recording, 0).cubin]->globals[0]->name, "of_first");
  EXPECT_EQ(recording.cubins[work<LaunchT>(recording, 1).cubin]->globals[0]->name, "of_second");
}

TEST(AModule, WhoseLoadWasNotSeenIsFoundByItsKernel) {
  World world;
  CUfunction add = world.load("found_by_name");
  auto module = reinterpret_cast<CUmodule>(0x4440);
  world.kernels[add].module = module;
  world.begin();
  world.launch(add, arena_address);
  EXPECT_EQ(world.ended().cubins.size(), 1);
}

TEST(AModule, ThatWasUnloadedIsNotTakenForAnother) {
  World world;
  CUfunction old = world.load("reused", {8, 4}, {{"of_old", "abcd"}});
  CUmodule module = world.kernels[old].module;
  cuModuleUnload_params p{module};
  world.call(KW_ID(cuModuleUnload), "cuModuleUnload", p);
  CUfunction fresh = world.load("reused", {8, 4}, {{"of_new", "abcd"}});
  world.kernels[fresh].module = reinterpret_cast<CUmodule>(0x4450);  // the recorder did not see its load
  world.begin();
  world.launch(fresh, arena_address);
  auto recording = world.ended();
  ASSERT_EQ(recording.cubins.size(), 1);
  EXPECT_EQ(recording.cubins[0]->image,
            recording::image_of({.kernels = {"reused"}, .globals = {{"of_new", 4}}}));
}

TEST(AnImage, KnowsItsKernelsAndItsLength) {
  recording::Image image = recording::image_of({.kernels = {"one", "two"}, .globals = {}});
  EXPECT_THAT(kernel_names(image), ElementsAre("one", "two"));
  EXPECT_EQ(image_bytes(image.data()), image.size());
}

TEST(AnImage, CutShortAnywhereHasNoNamesBeyondItsEnd) {
  const recording::Image image = recording::image_of({.kernels = {"one", "two"}, .globals = {}});
  for (std::size_t bytes = 0; bytes < image.size(); ++bytes) {
    const recording::Image part(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(bytes));
    EXPECT_LE(kernel_names(part).size(), 2);
  }
}

TEST(Globals, AreWrittenDownAsTheCallFoundThem) {
  World world;
  CUfunction add = world.load("add", {8, 4}, {{"counter", std::string("\x05\0\0\0", 4)}});
  world.begin();
  world.launch(add, arena_address);
  world.globals[world.kernels[add].module]["counter"] = "late";
  world.launch(add, arena_address);
  auto recording = world.ended();
  ASSERT_EQ(recording.cubins[0]->globals.size(), 1);
  EXPECT_EQ(recording.cubins[0]->globals[0]->name, "counter");
  EXPECT_THAT(recording.cubins[0]->globals[0]->bytes, ElementsAre(5, 0, 0, 0));
}

TEST(Globals, ThatAreHugeAreAnObstacle) {
  World world;
  CUfunction add = world.load("add", {8, 4}, {{"table", std::string((4U << 20U) + 1, 'x')}});
  world.begin();
  world.launch(add, arena_address);
  EXPECT_EQ(world.obstacles(world.ended()), "large global: table\n");
}

}  // namespace
}  // namespace kw::recorder
