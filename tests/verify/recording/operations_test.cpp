#include <gtest/gtest.h>

#include "world.h"

namespace kw::recording {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

TEST(Operation, NamesAStreamThatExists) {
  World world;
  world.launch(4);
  EXPECT_EQ(world.refusal(), "operation 0: there is no stream 4");
}

TEST(Operation, HasWork) {
  World world;
  world.launch();
  world.recording.operations.push_back(std::make_unique<OperationT>());
  EXPECT_EQ(world.refusal(), "operation 1: it has no work");
}

TEST(Operation, IsOfAKnownKind) {
  World world;
  world.copy();
  std::string bytes = world.bytes();
  auto* operation = flatbuffers::GetMutableRoot<Recording>(bytes.data())->operations()->Get(0);
  auto* kind = const_cast<std::uint8_t*>(
      reinterpret_cast<const flatbuffers::Table*>(operation)->GetAddressOf(Operation::VT_WORK_TYPE));
  *kind = 99;
  EXPECT_EQ(View::of(bytes).error().what, "operation 0: it is of an unknown kind");
}

TEST(Copy, WritesToHeapOrArena) {
  World world;
  world.copy().to = heap + 64 * mib - 255;
  EXPECT_EQ(world.refusal(), "operation 0: the copy writes beyond heap and arena");
}

TEST(Copy, ReadsFromHeapOrArena) {
  World world;
  world.copy().from = arena + 65536 - 255;
  EXPECT_EQ(world.refusal(), "operation 0: the copy reads beyond heap and arena");
}

TEST(Copy, MayReachTheLastByte) {
  World world;
  world.copy().from = arena + 65536 - 256;
  EXPECT_EQ(world.refusal(), "");
}

TEST(Copy, OfRowsReachesFromTheFirstToTheLast) {
  World world;
  CopyT& copy = world.copy();
  copy.rows = 3;
  copy.to_pitch = 256;
  copy.from_pitch = (65536 - 256) / 2;
  EXPECT_EQ(world.refusal(), "");
  copy.from_pitch += 1;
  EXPECT_THAT(world.refusal(), EndsWith("the copy reads beyond heap and arena"));
}

TEST(Copy, OfRowsThatOverlapIsRefused) {
  World world;
  CopyT& copy = world.copy();
  copy.rows = 2;
  copy.to_pitch = 255;
  copy.from_pitch = 256;
  EXPECT_THAT(world.refusal(), EndsWith("the copy writes beyond heap and arena"));
}

TEST(Copy, WhoseSizeOverflowsIsRefused) {
  World world;
  CopyT& copy = world.copy();
  copy.rows = (std::uint64_t{1} << 32) + 1;
  copy.to_pitch = copy.from_pitch = std::uint64_t{1} << 32;
  EXPECT_THAT(world.refusal(), HasSubstr("the copy writes beyond"));
}

TEST(Copy, OfNothingTouchesNothing) {
  World world;
  CopyT& copy = world.copy();
  copy.row_bytes = 0;
  copy.to = 1;
  EXPECT_EQ(world.refusal(), "");
}

TEST(Fill, HasElementsOfOneTwoOrFourBytes) {
  World world;
  world.fill().width = 3;
  EXPECT_THAT(world.refusal(), HasSubstr("elements have 3 bytes"));
}

TEST(Fill, LiesInHeapOrArena) {
  World world;
  world.fill().columns = 16 * mib + 1;
  EXPECT_EQ(world.refusal(), "operation 0: the fill reaches beyond heap and arena");
}

TEST(Fill, WhoseRowOverflowsIsRefused) {
  World world;
  world.fill().columns = largest / 4 + 2;
  EXPECT_THAT(world.refusal(), HasSubstr("the fill reaches beyond"));
}

TEST(Upload, LiesInHeapOrArena) {
  World world;
  UploadT& upload = world.add(0, UploadT());
  upload.to = heap - 1;
  upload.bytes = {1, 2};
  EXPECT_EQ(world.refusal(), "operation 0: the upload reaches beyond heap and arena");
}

TEST(Download, LiesInHeapOrArena) {
  World world;
  DownloadT& download = world.add(0, DownloadT());
  download.from = arena + 65535;
  download.bytes = {1, 2};
  EXPECT_EQ(world.refusal(), "operation 0: the download reaches beyond heap and arena");
}

TEST(HostWait, IsForSomethingKnown) {
  World world;
  world.host_waits(static_cast<HostWaits>(3));
  EXPECT_THAT(world.refusal(), HasSubstr("waits for nothing known"));
}

}  // namespace
}  // namespace kw::recording
