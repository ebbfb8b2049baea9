// Streams, events, the host's waits, graphs, and calls that cannot be repeated.
#include "branches.h"
#include "graphs.h"
#include "recorder_world.h"
#include "verify/recording/plan.h"

namespace kw::recorder {
namespace {

using recording::CopyT;
using recording::EventRecordT;
using recording::EventWaitT;
using recording::FillT;
using recording::HostWaits;
using recording::HostWaitT;
using recording::LaunchT;

CUgraphExec executable() {
  return reinterpret_cast<CUgraphExec>(0x880);
}

void instantiate(World& world) {
  CUgraphExec made = executable();
  cuGraphInstantiateWithFlags_params p{&made, reinterpret_cast<CUgraph>(0x870), 0};
  world.call(KW_ID(cuGraphInstantiateWithFlags), "cuGraphInstantiateWithFlags", p);
}

void launch_graph(World& world, CUstream stream = nullptr) {
  cuGraphLaunch_params p{executable(), stream};
  world.call(KW_ID(cuGraphLaunch), "cuGraphLaunch", p);
}

FakeNode fill_node(std::uint64_t to) {
  FakeNode node{.type = CU_GRAPH_NODE_TYPE_MEMSET, .kernel = {}, .fill = {}, .copy = {}};
  node.fill.dst = to;
  node.fill.elementSize = 4;
  node.fill.width = 16;
  node.fill.height = 1;
  return node;
}

TEST(Streams, AreNumberedFromTheCallersOn) {
  World world;
  CUfunction add = world.load("add");
  world.non_blocking.insert(World::stream(0x720));
  world.begin(World::stream(0x710));
  world.launch(add, arena_address, World::stream(0x720));
  world.launch(add, arena_address, World::stream(0x710));
  world.launch(add, arena_address, nullptr);
  auto recording = world.ended();
  ASSERT_EQ(recording.streams.size(), 3);
  EXPECT_EQ(recording.operations[0]->stream, 1);
  EXPECT_EQ(recording.operations[1]->stream, 0);
  EXPECT_TRUE(recording.streams[0]->blocking);
  EXPECT_FALSE(recording.streams[1]->blocking);
  EXPECT_TRUE(recording.streams[2]->legacy_default);
  EXPECT_EQ(recording.streams[1]->priority, -1);
}

TEST(Streams, TheLegacyDefaultIsOneUnderAllItsNames) {
  World world;
  CUfunction add = world.load("add");
  world.begin(nullptr);
  world.launch(add, arena_address, CU_STREAM_LEGACY);
  EXPECT_EQ(world.ended().streams.size(), 1);
}

TEST(Streams, NullIsTheThreadsOwnWhereTheCallSaysSo) {
  World world;
  CUfunction add = world.load("add");
  std::uint64_t at = arena_address;
  int count = 1;
  void* values[] = {&at, &count};
  cuLaunchKernel_params p{add, 1, 1, 1, 32, 1, 1, 0, nullptr, values, nullptr};
  world.begin(nullptr);
  world.call(KW_ID(cuLaunchKernel_ptsz), "cuLaunchKernel_ptsz", p);
  auto recording = world.ended();
  ASSERT_EQ(recording.streams.size(), 2);
  EXPECT_FALSE(recording.streams[1]->legacy_default);
  EXPECT_EQ(recording.operations[0]->stream, 1);
}

TEST(Events, AreWrittenDownWithTheirStreams) {
  World world;
  cuEventRecord_params record{World::event(0x90), World::stream(0x710)};
  cuStreamWaitEvent_params wait{World::stream(0x720), World::event(0x90), 0};
  world.begin();
  world.call(KW_ID(cuEventRecord), "cuEventRecord", record);
  world.call(KW_ID(cuStreamWaitEvent), "cuStreamWaitEvent", wait);
  auto recording = world.ended();
  EXPECT_EQ(work<EventRecordT>(recording, 0).event, 0x90);
  EXPECT_EQ(work<EventWaitT>(recording, 1).event, 0x90);
  EXPECT_NE(recording.operations[0]->stream, recording.operations[1]->stream);
}

TEST(TheHost, WaitsForADeviceAStreamOrAnEvent) {
  World world;
  cuStreamSynchronize_params stream{World::stream(0x710)};
  cuEventSynchronize_params event{World::event(0x90)};
  world.begin();
  world.call(KW_ID(cuCtxSynchronize), "cuCtxSynchronize", 0);
  world.call(KW_ID(cuStreamSynchronize), "cuStreamSynchronize", stream);
  world.call(KW_ID(cuEventSynchronize), "cuEventSynchronize", event);
  auto recording = world.ended();
  EXPECT_EQ(work<HostWaitT>(recording, 0).scope, HostWaits::device);
  EXPECT_EQ(work<HostWaitT>(recording, 1).scope, HostWaits::stream);
  EXPECT_EQ(recording.operations[1]->stream, 1);
  EXPECT_EQ(work<HostWaitT>(recording, 2).scope, HostWaits::event);
  EXPECT_EQ(work<HostWaitT>(recording, 2).event, 0x90);
}

TEST(TheHost, HasWaitedWhereItAskedAndHeardYes) {
  World world;
  cuEventQuery_params p{World::event(0x90)};
  world.begin();
  world.call(KW_ID(cuEventQuery), "cuEventQuery", p, CUDA_ERROR_NOT_READY);
  world.call(KW_ID(cuEventQuery), "cuEventQuery", p);
  EXPECT_EQ(world.ended().operations.size(), 1);
}

TEST(AGraph, IsWrittenDownInTheOrderOfItsEdges) {
  World world;
  world.nodes = {fill_node(arena_address), fill_node(arena_address + 4096), fill_node(arena_address + 8192)};
  world.edges = {{2, 0}, {0, 1}};
  instantiate(world);
  world.begin();
  launch_graph(world);
  auto recording = world.ended();
  EXPECT_EQ(work<FillT>(recording, 0).to, arena_address + 8192);
  EXPECT_EQ(work<FillT>(recording, 1).to, arena_address);
  EXPECT_EQ(work<FillT>(recording, 2).to, arena_address + 4096);
}

// The steps of the plan of a graph of as many fills.
recording::Plan planned(World& world, std::size_t nodes,
                        std::vector<std::pair<std::size_t, std::size_t>> edges) {
  for (std::size_t i = 0; i < nodes; ++i) world.nodes.push_back(fill_node(arena_address + 4096 * i));
  world.edges = std::move(edges);
  instantiate(world);
  world.begin();
  launch_graph(world);
  const auto recording = world.ended();
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(recording::Recording::Pack(builder, &recording));
  return recording::plan(*flatbuffers::GetRoot<recording::Recording>(builder.GetBufferPointer()));
}

TEST(AGraph, OfAChainIsOneStream) {
  World world;
  const auto plan = planned(world, 3, {{0, 1}, {1, 2}});
  EXPECT_FALSE(plan.open);
  for (const auto& step : plan.steps) EXPECT_EQ(step.stream, 0U);
}

TEST(AGraph, LeavesTheOrderOfItsBranchesOpen) {
  World world;
  const auto plan = planned(world, 4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  EXPECT_TRUE(plan.open);
  EXPECT_EQ(plan.unjoined, 0U);
  EXPECT_EQ(plan.steps[0].stream, plan.steps[1].stream);
  EXPECT_NE(plan.steps[1].stream, plan.steps[2].stream);
  EXPECT_THAT(plan.steps[2].after, testing::ElementsAre(0));
  EXPECT_THAT(plan.steps[3].after, testing::ElementsAre(2));
}

TEST(AGraph, JoinsBranchesThatNothingJoins) {
  World world;
  const auto plan = planned(world, 2, {});
  EXPECT_TRUE(plan.open);
  EXPECT_EQ(plan.unjoined, 0U);
}

TEST(AGraph, OfTooManyBranchesIsAChain) {
  World world;
  const auto plan = planned(world, most_branches + 1, {});
  EXPECT_FALSE(plan.open);
}

TEST(AGraph, BringsItsLaunchesAlong) {
  World world;
  CUfunction add = world.load("add");
  std::uint64_t at = arena_address;
  int count = 5;
  void* values[] = {&at, &count};
  FakeNode node{.type = CU_GRAPH_NODE_TYPE_KERNEL, .kernel = {}, .fill = {}, .copy = {}};
  node.kernel.func = add;
  node.kernel.gridDimX = node.kernel.gridDimY = node.kernel.gridDimZ = 2;
  node.kernel.blockDimX = node.kernel.blockDimY = node.kernel.blockDimZ = 1;
  node.kernel.kernelParams = values;
  world.nodes = {node};
  instantiate(world);
  at = 0;  // a graph keeps the parameters of its instantiation
  world.begin(World::stream(0x710));
  launch_graph(world, World::stream(0x710));
  auto recording = world.ended();
  const auto& launch = work<LaunchT>(recording, 0);
  EXPECT_TRUE(launch.from_graph);
  EXPECT_EQ(launch.grid->y(), 2);
  EXPECT_EQ(launch.parameters[5], 0x50) << "of the arena's address";
}

TEST(AGraph, BringsItsCopiesAlong) {
  World world;
  FakeNode node{.type = CU_GRAPH_NODE_TYPE_MEMCPY, .kernel = {}, .fill = {}, .copy = {}};
  node.copy.srcMemoryType = node.copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  node.copy.srcDevice = arena_address;
  node.copy.dstDevice = arena_address + 4096;
  node.copy.WidthInBytes = 100;
  node.copy.Height = node.copy.Depth = 1;
  world.nodes = {node};
  instantiate(world);
  world.begin();
  launch_graph(world);
  auto recording = world.ended();
  EXPECT_EQ(work<CopyT>(recording, 0).row_bytes, 100);
}

TEST(AGraph, WithAHostFunctionIsAnObstacle) {
  World world;
  world.nodes = {FakeNode{.type = CU_GRAPH_NODE_TYPE_HOST, .kernel = {}, .fill = {}, .copy = {}}};
  instantiate(world);
  world.begin();
  launch_graph(world);
  EXPECT_EQ(world.obstacles(world.ended()), "graph node: type 3\n");
}

TEST(AGraph, ChangedAfterItsInstantiationIsAnObstacle) {
  World world;
  world.nodes = {fill_node(arena_address)};
  instantiate(world);
  cuGraphExecUpdate_v2_params p{executable(), nullptr, nullptr};
  world.call(KW_ID(cuGraphExecUpdate_v2), "cuGraphExecUpdate_v2", p);
  world.begin();
  launch_graph(world);
  EXPECT_THAT(world.obstacles(world.ended()), testing::StartsWith("graph: changed"));
}

TEST(AGraph, ThatWritesToOthersMemoryIsAnObstacle) {
  World world;
  world.nodes = {fill_node(0x7f0000000000)};
  instantiate(world);
  world.begin();
  launch_graph(world);
  EXPECT_THAT(world.obstacles(world.ended()), testing::StartsWith("foreign pointer"));
}

TEST(AnUnknownCall, IsAnObstacleByName) {
  World world;
  world.begin();
  world.call(KW_ID(cuLaunchHostFunc), "cuLaunchHostFunc", 0);
  EXPECT_EQ(world.obstacles(world.ended()), "driver call: cuLaunchHostFunc\n");
}

TEST(AnUnknownCall, OfTheRecordersOwnIsNone) {
  World world;
  world.begin();
  {
    Quiet quiet;
    world.call(KW_ID(cuLaunchHostFunc), "cuLaunchHostFunc", 0);
  }
  EXPECT_EQ(world.obstacles(world.ended()), "");
}

TEST(Harmless, IsWhatOnlyAsks) {
  EXPECT_TRUE(harmless("cuPointerGetAttributes"));
  EXPECT_TRUE(harmless("cuGetProcAddress_v2"));
  EXPECT_TRUE(harmless("cuDevicePrimaryCtxGetState"));
}

TEST(Harmless, IsTheSameInAllVersions) {
  EXPECT_TRUE(harmless("cuMemFree"));
  EXPECT_TRUE(harmless("cuMemFree_v2"));
  EXPECT_TRUE(harmless("cuStreamBeginCapture_v2_ptsz"));
}

TEST(Harmless, IsNotWhatActsOnTheDevice) {
  for (const char* name :
       {"cuStreamWriteValue32_v2", "cuStreamBatchMemOp", "cuLaunchHostFunc", "cuMemcpy3DAsync_v2",
        "cuMemPrefetchAsync", "cuGraphLaunch", "cuTexObjectCreate", "cuLaunchGrid"})
    EXPECT_FALSE(harmless(name)) << name;
}

TEST(AMarker, LiesBetweenTheOperationsAroundIt) {
  World world;
  CUfunction add = world.load("add");
  world.begin();
  world.launch(add, arena_address);
  kwrec_mark();
  world.launch(add, arena_address);
  world.launch(add, arena_address);
  EXPECT_THAT(world.ended().markers, testing::ElementsAre(1));
}

TEST(AMarker, IsAfterAllThatOtherStreamsWereGiven) {
  World world;
  CUfunction add = world.load("add");
  world.begin();
  world.launch(add, arena_address, World::stream(0x710));
  world.launch(add, arena_address);
  kwrec_mark();
  EXPECT_THAT(world.ended().markers, testing::ElementsAre(2));
}

TEST(AMarker, OutsideARecordingIsNone) {
  World world;
  CUfunction add = world.load("add");
  kwrec_mark();
  world.begin();
  world.launch(add, arena_address);
  EXPECT_TRUE(world.ended().markers.empty());
}

TEST(AMarker, OfACandidateThatMarksOnAndOnIsWrittenTwice) {
  World world;
  world.begin();
  for (int i = 0; i < 1000; ++i) kwrec_mark();
  EXPECT_EQ(world.ended().markers.size(), 2U);
}

}  // namespace
}  // namespace kw::recorder
