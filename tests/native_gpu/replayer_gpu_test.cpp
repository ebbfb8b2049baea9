// The replayer on a real device, with the kernels of replayer_kernels.ptx. Needs compute capability 9.0.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/core/files.h"
#include "replayer_fork_world.h"
#include "replayer_world.h"

namespace kw::replayer {
namespace {

using recording::mib;
constexpr std::uint64_t gpu_arena_bytes = 2 * mib;
constexpr std::uint64_t room_at = mib;
constexpr std::uint64_t gpu_word_at = heap + 8192;

// The repository's files, on this machine or on the one to which they were copied.
recording::Image kernels() {
  for (const char* folder : {KW_SOURCE_DIR "/", ""})
    if (auto bytes = read_file(std::string(folder) + "tests/native_gpu/replayer_kernels.cubin"))
      return {bytes->begin(), bytes->end()};
  throw std::runtime_error("replayer_kernels.cubin is not there");
}

// Exported memory, in the form of an oracle's.
class Exported {
 public:
  Exported(const driver::Driver& driver, std::uint64_t bytes) : driver_(driver), bytes_(bytes) {
    CUmemAllocationProp wanted{};
    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemAccessDesc access{};
    access.location = wanted.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    EXPECT_EQ(driver.cuMemCreate(&handle_, bytes, &wanted, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemAddressReserve(&address_, bytes, 0, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemMap(address_, bytes, 0, handle_, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemSetAccess(address_, bytes, &access, 1), CUDA_SUCCESS);
  }
  ~Exported() {
    driver_.cuMemUnmap(address_, bytes_);
    driver_.cuMemAddressFree(address_, bytes_);
    driver_.cuMemRelease(handle_);
  }
  Exported(const Exported&) = delete;
  Exported& operator=(const Exported&) = delete;

  Fd descriptor() const {
    int fd = -1;
    EXPECT_EQ(driver_.cuMemExportToShareableHandle(&fd, handle_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
              CUDA_SUCCESS);
    return Fd(fd);
  }
  std::uint32_t word(std::uint64_t offset) const {
    std::uint32_t result = 0;
    EXPECT_EQ(driver_.cuMemcpyDtoH(&result, address_ + offset, sizeof result), CUDA_SUCCESS);
    return result;
  }
  void fill(std::uint64_t offset, std::uint64_t bytes, std::uint32_t value) const {
    std::vector<std::uint32_t> words(bytes / sizeof value, value);
    EXPECT_EQ(driver_.cuMemcpyHtoD(address_ + offset, words.data(), bytes), CUDA_SUCCESS);
  }

 private:
  const driver::Driver& driver_;
  std::uint64_t bytes_;
  CUmemGenericAllocationHandle handle_ = 0;
  CUdeviceptr address_ = 0;
};

// Context, addresses and gate, in a replayer's usual sandbox.
TEST(ConfinedReplayer, IsReadyInTheSandbox) {
  Server server(serve_replays);
  server.receive();
  Spawned child;
  wire::SpawnT spawn = unconfined_spawn();
  spawn.unconfined = false;
  spawn.memory_bytes = std::uint64_t{8} << 30;
  spawn.processes = 64;
  spawn.open_files = 1024;
  spawn.environment = {"CUDA_DEVICE_MAX_CONNECTIONS=2"};
  child.ask_for(server, spawn);
  kw_spawned spawned = child.told<kw_spawned>();
  ASSERT_EQ(spawned.type, KW_SPAWNED);
  ASSERT_EQ(spawned.error, 0) << spawned.step;
  ASSERT_TRUE(send_packet(child.control.ours.get(), wire::encode(wire::ReplayT())).has_value());
  auto body = wire::decode(receive_packet(child.control.ours.get()).value().bytes).value();
  ASSERT_NE(body.AsFailed(), nullptr);
  EXPECT_EQ(body.AsFailed()->error, "slot 0 holds no recording");
}

const driver::Driver& real_driver() {
  static driver::Driver driver;
  static const char* missing = driver::load(driver);
  if (*missing != '\0') throw std::runtime_error(std::string("missing: ") + missing);
  return driver;
}

class RealReplay : public testing::Test {
 protected:
  RealReplay() : worker_(Worker::start(real_driver(), 0).value()), arena_(real_driver(), gpu_arena_bytes) {
    world_.set_image(kernels());
    world_.recording.committed = {recording::Span(heap, 4 * mib)};
    request_.arena_address = recording::arena;
    request_.arena_bytes = gpu_arena_bytes;
    request_.outputs_offset = room_at;
    request_.outputs = {wire::OutputSpan(gpu_word_at, 4, room_at)};
  }

  void launch(const char* name, std::uint64_t address, std::uint32_t value, std::uint32_t stream = 1) {
    recording::LaunchT& made = world_.launch(stream);
    made.name = name;
    std::memcpy(made.parameters.data(), &address, sizeof address);
    std::memcpy(made.parameters.data() + sizeof address, &value, sizeof value);
  }
  void join(std::uint32_t stream, std::uint64_t event) {
    world_.record(stream, event);
    world_.wait(0, event);
  }
  void load() {
    std::vector<Fd> fds;
    fds.push_back(memory_file("recording", world_.bytes()).value());
    fds.push_back(arena_.descriptor());
    if (state_) fds.push_back(state_->descriptor());
    auto reply = wire::decode(worker_->answer(wire::decode(wire::encode(request_)).value(), fds)).value();
    if (const auto* failed = reply.AsFailed()) throw std::runtime_error(failed->error);
    description_ = *reply.AsReplayable();
  }
  wire::BodyUnion ask(wire::ReplayT request) {
    arena_.fill(room_at, gpu_arena_bytes - room_at, poison_);
    return wire::decode(worker_->answer(wire::decode(wire::encode(request)).value(), {})).value();
  }
  wire::ReplayedT replay(wire::ReplayT request = {}) {
    auto reply = ask(std::move(request));
    if (const auto* failed = reply.AsFailed()) throw std::runtime_error(failed->error);
    return *reply.AsReplayed();
  }
  void give_state(std::uint32_t word) {
    state_ = std::make_unique<Exported>(real_driver(), 2 * mib);
    state_->fill(0, 4, word);
    world_.recording.state_bytes = 2 * mib;
    world_.add_state(gpu_word_at, 4, 0);
  }

  std::unique_ptr<Worker> worker_;
  Exported arena_;
  std::unique_ptr<Exported> state_;
  recording::World world_;
  wire::LoadRecordingT request_;
  wire::ReplayableT description_;
  std::uint32_t poison_ = 0x7FC00000;
};

TEST_F(RealReplay, StateIsRestoredAndTheOutputHandedOver) {
  give_state(7);
  launch("add", gpu_word_at, 1, 0);
  load();
  for (int i = 0; i < 3; ++i) {
    replay();
    EXPECT_EQ(arena_.word(room_at), 8U);
  }
  EXPECT_EQ(description_.launches.at(0)->name, "add");
  EXPECT_GT(description_.launches.at(0)->registers, 0);
  EXPECT_EQ(description_.launches.at(0)->spills, 0);
}

TEST_F(RealReplay, WhatWasNotWrittenIsPoison) {
  launch("add", gpu_word_at, 1, 0);
  load();
  for (std::uint32_t poison : {0x7FC00000U, 41U}) {
    poison_ = poison;
    replay();
    EXPECT_EQ(arena_.word(room_at), poison + 1);
  }
}

TEST_F(RealReplay, AMemoInAVariableIsForgotten) {
  launch("count", gpu_word_at, 5, 0);
  load();
  for (int i = 0; i < 3; ++i) {
    replay();
    EXPECT_EQ(arena_.word(room_at), 5U);
  }
}

TEST_F(RealReplay, StreamsFollowTheirEventsInEveryOrder) {
  launch("set", gpu_word_at, 2, 1);
  launch("spin", 0, 2'000'000, 1);
  launch("set", gpu_word_at, 5, 1);
  world_.record(1, 7);
  world_.wait(2, 7);
  launch("add", gpu_word_at, 3, 2);
  join(2, 8);
  load();
  for (wire::Order order : {wire::Order::recorded, wire::Order::serial, wire::Order::late}) {
    wire::ReplayT how = in_order(order);
    how.late_stream = 1;
    replay(how);
    EXPECT_EQ(arena_.word(room_at), 8U);
  }
}

TEST_F(RealReplay, AKnownTimeIsMeasured) {
  launch("spin", 0, 100'000, 1);
  join(1, 7);
  load();
  replay();
  for (int i = 0; i < 5; ++i) {
    auto request = timed();
    request.flush_l2 = i % 2 == 1;
    auto reply = replay(request);
    EXPECT_TRUE(reply.gated);
    EXPECT_GT(reply.device_ms, 0.099);
    EXPECT_LT(reply.device_ms, 0.115);
    EXPECT_NEAR(reply.host_ms, reply.device_ms, 0.01);
    EXPECT_NEAR(reply.marked_ms, reply.device_ms, 0.003);
    RecordProperty("device_ms_" + std::to_string(i), std::to_string(reply.device_ms));
    printf("device %.4f host %.4f marked %.4f floors %.4f %.4f load %.2f ms\n", reply.device_ms,
           reply.host_ms, reply.marked_ms, reply.floor_ms, reply.host_floor_ms, description_.load_ms);
  }
}

TEST_F(RealReplay, ManyLaunchesAreTimedOneByOne) {
  for (int i = 0; i < 200; ++i) launch("spin", 0, 20'000, 0);
  load();
  replay();
  wire::ReplayT each;
  each.each_launch = true;
  auto reply = replay(each);
  ASSERT_EQ(reply.launch_ms.size(), 200U);
  for (double ms : reply.launch_ms) EXPECT_NEAR(ms, 0.021, 0.003);
}

TEST_F(RealReplay, MoreThanAQueueHoldsDoesNotHang) {
  for (int i = 0; i < 3000; ++i) launch("add", gpu_word_at, 1, i % 2 == 0 ? 0 : 3);
  load();
  replay();
  poison_ = 0;
  EXPECT_FALSE(replay(timed()).gated);
  EXPECT_EQ(arena_.word(room_at), 3000U);
}

TEST_F(RealReplay, ADownloadIsCompared) {
  launch("set", gpu_word_at, 9, 0);
  recording::DownloadT download;
  download.from = gpu_word_at;
  download.bytes = {9, 0, 0, 0};
  world_.add(0, download);
  load();
  EXPECT_TRUE(replay().downloads_equal);
}

wire::ReplayT guarded(std::uint64_t key) {
  wire::ReplayT request;
  request.guard = true;
  request.gap_key = key;
  return request;
}

TEST_F(RealReplay, AGuardedReplayFindsEachKindOfWriteOutOfBounds) {
  for (std::uint64_t at : {4100U, 4104U, 4092U, 1U << 20U, (4U << 20U) - 4}) {
    world_.recording.operations.clear();
    world_.recording.scratch = {recording::Span(heap + 4096, 4), recording::Span(gpu_word_at, 4)};
    launch("set", heap + at, 9, 0);
    load();
    EXPECT_THAT(replay(guarded(at)).overrun, testing::HasSubstr("in the launch of set")) << at;
  }
}

TEST_F(RealReplay, AGuardedReplayLeavesAllocationsAlone) {
  world_.recording.scratch = {recording::Span(gpu_word_at, 4)};
  for (std::uint64_t i = 0; i < 1000; ++i)
    world_.recording.scratch.emplace_back(heap + 65536 + i * 1027, 1025);
  launch("set", gpu_word_at, 9, 0);
  load();
  for (std::uint64_t key : {1U, 2U, 3U}) EXPECT_EQ(replay(guarded(key)).overrun, "");
  EXPECT_EQ(arena_.word(room_at), 9U);
}

TEST_F(RealReplay, TheBytesOfAGapAreThoseOfItsKey) {
  world_.recording.scratch = {recording::Span(heap + 4096, 4)};
  launch("set", heap + 4096, 9, 0);  // the output lies in a gap
  load();
  for (std::uint64_t key : {5U, 6U}) {
    EXPECT_EQ(replay(guarded(key)).overrun, "");
    EXPECT_EQ(arena_.word(room_at), static_cast<std::uint32_t>(gap_word(gpu_word_at, key)));
  }
}

// Prints what the guard costs a replay, for a heap of 32 MiB and of 2 GiB.
TEST_F(RealReplay, AGuardedReplayTakesLittleLonger) {
  for (std::uint64_t heap_bytes : {32 * mib, 2048 * mib}) {
    world_.recording.operations.clear();
    world_.recording.heap = std::make_unique<recording::Span>(heap, heap_bytes);
    world_.recording.committed = {recording::Span(heap, heap_bytes)};
    world_.recording.scratch = {recording::Span(gpu_word_at, 4)};
    launch("set", gpu_word_at, 9, 0);
    load();
    double ms[2] = {1e9, 1e9};
    for (int i = 0; i < 40; ++i) {
      const auto begin = SteadyClock::now();
      replay(i % 2 == 1 ? guarded(7) : wire::ReplayT());
      ms[i % 2] = std::min(ms[i % 2], ms_since(begin));
    }
    printf("heap of %llu MiB: %.3f ms a replay, %.3f ms with a guard\n",
           static_cast<unsigned long long>(heap_bytes / mib), ms[0], ms[1]);
    EXPECT_LT(ms[1], ms[0] + 20);
  }
}

// Must be the last test: the device does not work in this process afterwards.
TEST_F(RealReplay, ZIllegalAccessesEndTheProcess) {
  launch("set", 4096, 9, 0);
  load();
  auto reply = ask({});
  ASSERT_NE(reply.AsFailed(), nullptr);
  EXPECT_EQ(reply.AsFailed()->error_class, "illegal_memory_access");
  EXPECT_TRUE(worker_->spent());
  worker_.release();  // its destructors would only fail
}

}  // namespace
}  // namespace kw::replayer
