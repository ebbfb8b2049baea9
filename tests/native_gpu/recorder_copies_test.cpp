#include <cstring>

#include "recorder_world.h"

namespace kw::recorder {
namespace {

using recording::CopyT;
using recording::DownloadT;
using recording::FillT;
using recording::HostWaits;
using recording::HostWaitT;
using recording::UploadT;
using testing::Contains;
using testing::ElementsAre;

std::uint64_t number(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

TEST(ACopy, WithinTheDeviceIsWrittenDown) {
  World world;
  std::uint64_t to = world.allocate(4096);
  cuMemcpyDtoDAsync_v2_params p{to, arena_address, 4096, nullptr};
  world.begin();
  world.call(KW_ID(cuMemcpyDtoDAsync_v2), "cuMemcpyDtoDAsync_v2", p);
  auto recording = world.ended();
  EXPECT_EQ(work<CopyT>(recording, 0).to, to);
  EXPECT_EQ(work<CopyT>(recording, 0).from, arena_address);
  EXPECT_EQ(work<CopyT>(recording, 0).row_bytes, 4096);
}

TEST(ACopy, BeyondTheArenaIsAnObstacle) {
  World world;
  std::uint64_t to = world.allocate(4096);
  cuMemcpyDtoDAsync_v2_params p{to, arena_address + arena_bytes - 8, 16, nullptr};
  world.begin();
  world.call(KW_ID(cuMemcpyDtoDAsync_v2), "cuMemcpyDtoDAsync_v2", p);
  EXPECT_EQ(world.obstacles(world.ended()), "foreign pointer: cuMemcpyDtoDAsync_v2\n");
}

TEST(ACopy, OfOthersMemoryIsAnObstacle) {
  World world;
  world.foreign.insert(0x7f0000001000);
  cuMemcpyAsync_params p{arena_address, 0x7f0000001000, 16, nullptr};
  world.begin();
  world.call(KW_ID(cuMemcpyAsync), "cuMemcpyAsync", p);
  EXPECT_EQ(world.obstacles(world.ended()), "foreign pointer: cuMemcpyAsync\n");
}

TEST(ACopy, InTwoDimensionsKeepsItsRows) {
  World world;
  CUDA_MEMCPY2D copy{};
  copy.dstMemoryType = copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = arena_address;
  copy.dstPitch = 64;
  copy.srcDevice = arena_address + 4096;
  copy.srcXInBytes = 8;
  copy.srcPitch = 128;
  copy.WidthInBytes = 32;
  copy.Height = 5;
  cuMemcpy2DAsync_v2_params p{&copy, nullptr};
  world.begin();
  world.call(KW_ID(cuMemcpy2DAsync_v2), "cuMemcpy2DAsync_v2", p);
  auto recording = world.ended();
  const auto& work_done = work<CopyT>(recording, 0);
  EXPECT_EQ(work_done.from, arena_address + 4096 + 8);
  EXPECT_EQ(work_done.rows, 5);
  EXPECT_EQ(work_done.row_bytes, 32);
  EXPECT_EQ(work_done.to_pitch, 64);
  EXPECT_EQ(work_done.from_pitch, 128);
}

TEST(AnUpload, CarriesTheHostsBytes) {
  World world;
  char bytes[] = "hello";
  cuMemcpyHtoDAsync_v2_params p{arena_address, bytes, 5, nullptr};
  world.begin();
  world.call(KW_ID(cuMemcpyHtoDAsync_v2), "cuMemcpyHtoDAsync_v2", p);
  auto recording = world.ended();
  EXPECT_THAT(work<UploadT>(recording, 0).bytes, ElementsAre('h', 'e', 'l', 'l', 'o'));
}

TEST(ADownload, CarriesWhatTheHostSawAfterTheStreamWasDone) {
  World world;
  char bytes[] = "12345678";
  world.pinned.insert(number(bytes));
  cuMemcpyDtoHAsync_v2_params p{bytes, arena_address, 4, nullptr};
  world.begin();
  world.call(KW_ID(cuMemcpyDtoHAsync_v2), "cuMemcpyDtoHAsync_v2", p);
  auto recording = world.ended();
  EXPECT_THAT(work<DownloadT>(recording, 0).bytes, ElementsAre('1', '2', '3', '4'));
  EXPECT_THAT(world.calls, Contains("cuStreamSynchronize"));
  EXPECT_EQ(recording.operations.size(), 1) << "into pinned memory the host goes on";
}

TEST(ADownload, IntoPageableMemoryMakesTheHostWait) {
  World world;
  char bytes[] = "12345678";
  cuMemcpyDtoHAsync_v2_params p{bytes, arena_address, 4, nullptr};
  world.begin();
  world.call(KW_ID(cuMemcpyDtoHAsync_v2), "cuMemcpyDtoHAsync_v2", p);
  auto recording = world.ended();
  EXPECT_EQ(work<HostWaitT>(recording, 1).scope, HostWaits::stream);
}

TEST(ADownload, OfTooMuchIsAnObstacle) {
  World world;
  std::vector<char> bytes((64U << 20U) + 1);
  std::uint64_t from = world.allocate(bytes.size());
  cuMemcpyDtoH_v2_params p{bytes.data(), from, bytes.size()};
  world.begin();
  world.call(KW_ID(cuMemcpyDtoH_v2), "cuMemcpyDtoH_v2", p);
  EXPECT_THAT(world.obstacles(world.ended()), testing::StartsWith("too much data"));
}

TEST(AnUpload, OfTooManyRowsIsAnObstacle) {
  World world;
  std::vector<char> bytes(70'000);
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = bytes.data();
  copy.srcPitch = 1;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = arena_address;
  copy.dstPitch = 2;
  copy.WidthInBytes = 1;
  copy.Height = 70'000;
  cuMemcpy2D_v2_params p{&copy};
  world.begin();
  world.call(KW_ID(cuMemcpy2D_v2), "cuMemcpy2D_v2", p);
  EXPECT_THAT(world.obstacles(world.ended()), testing::StartsWith("too much data"));
}

TEST(AFill, KeepsValueWidthAndColumns) {
  World world;
  cuMemsetD32Async_params p{arena_address, 0x3f800000, 100, nullptr};
  world.begin();
  world.call(KW_ID(cuMemsetD32Async), "cuMemsetD32Async", p);
  auto recording = world.ended();
  const auto& fill = work<FillT>(recording, 0);
  EXPECT_EQ(fill.value, 0x3f800000);
  EXPECT_EQ(fill.width, 4);
  EXPECT_EQ(fill.columns, 100);
}

TEST(AFill, InTwoDimensionsKeepsItsRows) {
  World world;
  cuMemsetD2D16_v2_params p{arena_address, 256, 7, 10, 3};
  world.begin();
  world.call(KW_ID(cuMemsetD2D16_v2), "cuMemsetD2D16_v2", p);
  auto recording = world.ended();
  const auto& fill = work<FillT>(recording, 0);
  EXPECT_EQ(fill.width, 2);
  EXPECT_EQ(fill.rows, 3);
  EXPECT_EQ(fill.pitch, 256);
}

TEST(AFill, OfOthersMemoryIsAnObstacle) {
  World world;
  cuMemsetD8Async_params p{0x7f0000001000, 0, 16, nullptr};
  world.begin();
  world.call(KW_ID(cuMemsetD8Async), "cuMemsetD8Async", p);
  EXPECT_EQ(world.obstacles(world.ended()), "foreign pointer: cuMemsetD8Async\n");
}

}  // namespace
}  // namespace kw::recorder
