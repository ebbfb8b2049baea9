// The memory that a replay reads, and the memory that it leaves.
#include <gtest/gtest.h>

#include "replayer_world.h"

namespace kw::replayer {
namespace {

constexpr std::uint64_t word_at = heap + 8192;

TEST(ReplayedMemory, TheStateIsAsTheCallFoundItEachTime) {
  ReplayWorld world;
  world.add_state(word_at, 7);
  world.launch("add", word_at, 1);
  world.add_output(word_at);
  world.loaded();
  for (int i = 0; i < 3; ++i) {
    world.replayed();
    EXPECT_EQ(world.output(), 8U);
  }
}

TEST(ReplayedMemory, TheStatesOwnMemoryIsOutOfReachOfKernels) {
  ReplayWorld world;
  world.add_state(word_at, 7);
  world.launch("set", word_at, 1);
  world.loaded();
  std::size_t before = world.driver.memory.mappings();
  std::size_t during = 0;
  world.driver.kernels["set"].body = [&](fake::Run& run) {
    during = run.memory.mappings();
    return CUDA_SUCCESS;
  };
  world.replayed();
  EXPECT_EQ(during, before);
}

TEST(ReplayedMemory, WhatIsNotStateHoldsPoison) {
  ReplayWorld world;
  world.launch("add", heap + 64, 1);
  world.add_output(heap + 64);
  world.add_output(heap + (1 << 20) - 4);  // the last word
  world.loaded();
  world.poison(0x7FC00000);
  world.replayed();
  EXPECT_EQ(world.output(0), 0x7FC00001U);
  EXPECT_EQ(world.output(1), 0x7FC00000U);
}

TEST(ReplayedMemory, PoisonIsTheArenasOwnEachTime) {
  ReplayWorld world;
  world.launch("set", heap, 1);
  world.add_output(heap + 64);
  world.loaded();
  for (std::uint32_t poison : {5U, 6U}) {
    world.poison(poison);
    world.replayed();
    EXPECT_EQ(world.output(), poison);
  }
}

TEST(ReplayedMemory, AMemoInAVariableDoesNotSurvive) {
  ReplayWorld world;
  world.driver.set_variable("counter", std::string(4, '\x05'));
  world.launch("add", world.driver.variables.at("counter").first, 1);
  world.loaded();
  world.replayed();
  world.replayed();
  EXPECT_EQ(world.driver.variable("counter"), std::string("\x06\x05\x05\x05"));
}

TEST(ReplayedMemory, AVariableStartsAsItWasRecorded) {
  ReplayWorld world;
  world.driver.set_variable("counter", std::string(4, '\0'));
  auto counter = std::make_unique<recording::GlobalT>();
  counter->name = "counter";
  counter->bytes = {9, 0, 0, 0};
  world.world.recording.cubins[0]->globals.push_back(std::move(counter));
  world.launch("add", world.driver.variables.at("counter").first, 1);
  world.loaded();
  world.replayed();
  EXPECT_EQ(world.driver.variable("counter"), std::string("\x0A\0\0\0", 4));
}

TEST(ReplayedMemory, InputsAreWhatTheArenaHolds) {
  ReplayWorld world;
  world.world.copy().row_bytes = 4;  // arena → heap
  world.add_output(heap);
  world.loaded();
  (*world.arena_memory)[0] = 42;
  world.replayed();
  EXPECT_EQ(world.output(), 42U);
}

TEST(ReplayedMemory, RowsAndFillsActAsRecorded) {
  ReplayWorld world;
  recording::FillT& fill = world.world.fill();
  fill.to = heap;
  fill.width = 2;
  fill.value = 0xABCD;
  fill.columns = 1;
  fill.rows = 2;
  fill.pitch = 8;
  recording::CopyT& copy = world.world.copy();
  copy.from = heap;
  copy.to = heap + 256;
  copy.row_bytes = copy.to_pitch = 2;
  copy.rows = 2;
  copy.from_pitch = 8;
  world.add_output(heap + 256);
  world.loaded();
  world.replayed();
  EXPECT_EQ(world.output(), 0xABCDABCDU);
}

TEST(ReplayedMemory, UploadsBringTheRecordedBytes) {
  ReplayWorld world;
  recording::UploadT upload;
  upload.to = heap;
  upload.bytes = {1, 2, 3, 4};
  world.world.add(0, upload);
  world.add_output(heap);
  world.loaded();
  world.replayed();
  EXPECT_EQ(world.output(), 0x04030201U);
}

TEST(ReplayedMemory, ADownloadIsComparedWithWhatTheHostSaw) {
  for (std::uint8_t seen : {std::uint8_t{3}, std::uint8_t{4}}) {
    ReplayWorld world;
    world.launch("set", heap, 3);
    recording::DownloadT download;
    download.from = heap;
    download.bytes = {seen, 0, 0, 0};
    world.world.add(0, download);
    EXPECT_EQ(world.loaded().downloads, 1U);
    EXPECT_EQ(world.replayed().downloads_equal, seen == 3);
  }
}

TEST(ReplayedMemory, TwoRecordingsShareWhatTheyBothCommitted) {
  ReplayWorld world;
  world.launch("set", heap, 1);
  world.add_output(heap);
  world.loaded();
  std::size_t mappings = world.driver.memory.mappings();
  world.request.slot = 1;
  world.loaded();
  EXPECT_EQ(world.driver.memory.mappings(), mappings);
  wire::ReplayT second;
  second.slot = 1;
  world.replayed(second);
  EXPECT_EQ(world.output(), 1U);
}

}  // namespace
}  // namespace kw::replayer
