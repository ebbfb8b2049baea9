#include <gtest/gtest.h>

#include "base/core/files.h"
#include "verify/messages/launch_list.h"
#include "verify/messages/message.h"

namespace kw::wire {
namespace {

// Small numbers and texts of every kind, as in wire/golden/returned.bin for both languages.
ReturnedT returned() {
  ReturnedT message;
  message.trial = 3;
  message.launch_count = 2;
  message.program_count = 640;
  message.ms = 1.5;
  message.outputs = std::make_unique<ValueT>();
  message.outputs->kind = ValueKind::tuple;
  auto tensor = std::make_unique<ValueT>();
  tensor->kind = ValueKind::tensor;
  tensor->tensor = std::make_unique<TensorT>();
  tensor->tensor->dtype = "bfloat16";
  tensor->tensor->shape = {2, 3};
  tensor->tensor->stride = {3, 1};
  tensor->tensor->offset = 4096;
  tensor->tensor->bytes = 12;
  message.outputs->items.push_back(std::move(tensor));
  auto launch = std::make_unique<LaunchT>();
  launch->name = "add";
  launch->grid = {5, 1, 1};
  launch->programs = 5;
  launch->num_warps = 4;
  message.launches.push_back(std::move(launch));
  return message;
}

std::filesystem::path golden() {
  return std::filesystem::path(KW_SOURCE_DIR) / "wire/golden/returned.bin";
}

void expect_the_golden_message(const ReturnedT& message) {
  EXPECT_EQ(message.trial, 3U);
  EXPECT_EQ(message.program_count, 640U);
  EXPECT_EQ(message.ms, 1.5);
  ASSERT_EQ(message.outputs->items.size(), 1U);
  EXPECT_EQ(message.outputs->items[0]->tensor->dtype, "bfloat16");
  EXPECT_EQ(message.outputs->items[0]->tensor->shape, (std::vector<std::int64_t>{2, 3}));
  ASSERT_EQ(message.launches.size(), 1U);
  EXPECT_EQ(message.launches[0]->name, "add");
  EXPECT_EQ(message.launches[0]->registers, -1);
}

TEST(Message, ComesBackAsItWent) {
  auto body = decode(encode(returned()));
  ASSERT_TRUE(body && body->AsReturned() != nullptr);
  expect_the_golden_message(*body->AsReturned());
}

TEST(Message, TheGoldenVectorReads) {
  auto bytes = read_file(golden());
  ASSERT_TRUE(bytes);
  auto body = decode(*bytes);
  ASSERT_TRUE(body && body->AsReturned() != nullptr);
  expect_the_golden_message(*body->AsReturned());
}

TEST(Message, NoTruncationIsAccepted) {
  std::string packet = encode(returned());
  for (std::size_t size = 0; size < packet.size(); ++size) {
    auto body = decode(std::string_view(packet).substr(0, size));
    // Trailing padding may be cut; a table must not.
    if (body) EXPECT_GE(size + 8, packet.size());
  }
}

TEST(Message, EveryFlippedByteIsReadSafely) {
  std::string packet = encode(returned());
  for (std::size_t at = 0; at < packet.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = packet;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      (void)decode(flipped);
    }
}

TEST(Message, GarbageIsRefused) {
  EXPECT_FALSE(decode(""));
  EXPECT_FALSE(decode("hello, supervisor"));
  EXPECT_FALSE(decode(std::string(4096, '\xff')));
}

// The supervisor took such a message for an answer, and read through a null pointer.
TEST(Message, AKindWithoutContentIsRefused) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(CreatePacket(builder, Body::Returned));
  const std::string packet(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
  EXPECT_FALSE(decode(packet));
}

std::unique_ptr<LaunchT> launch_of(const char* name, std::uint64_t blocks, int operation) {
  auto launch = std::make_unique<LaunchT>();
  launch->name = name;
  launch->cubin_sha256 = std::string(64, name[0]);
  launch->grid = {blocks, 1, 1};
  launch->block = {128, 1, 1};
  launch->operation = operation;
  return launch;
}

TEST(LaunchList, TwoThousandLaunchesOfTwoKernelsFitAPacketAndComeBack) {
  ReplayableT sent;
  for (int i = 0; i < 2000; ++i) sent.launches.push_back(launch_of(i % 3 == 0 ? "mine" : "theirs", 7, i));
  shorten(sent.launches);
  const std::string packet = encode(std::move(sent));
  EXPECT_LE(packet.size(), 65536U);
  auto read = decode(packet);
  ASSERT_TRUE(read);
  LaunchList& launches = read->AsReplayable()->launches;
  ASSERT_TRUE(complete(launches));
  EXPECT_EQ(launches[1999]->name, "theirs");
  EXPECT_EQ(launches[1998]->name, "mine");
  EXPECT_EQ(launches[1998]->cubin_sha256, std::string(64, 'm'));
  EXPECT_EQ(launches[1998]->operation, 1998);
}

TEST(LaunchList, AnotherGridIsKept) {
  LaunchList launches;
  launches.push_back(launch_of("mine", 7, 0));
  launches.push_back(launch_of("mine", 8, 1));
  shorten(launches);
  ASSERT_TRUE(complete(launches));
  EXPECT_EQ(launches[1]->grid, (std::vector<std::uint64_t>{8, 1, 1}));
}

TEST(LaunchList, ALaunchThatRefersToNoneBeforeItIsRefused) {
  for (int same_as : {1, 2, 1000}) {
    LaunchList launches;
    launches.push_back(launch_of("mine", 7, 0));
    launches.push_back(std::make_unique<LaunchT>());
    launches[1]->same_as = same_as;
    EXPECT_FALSE(complete(launches)) << same_as;
  }
}

TEST(CallSpec, ComesBackAsItWent) {
  CallSpecT spec;
  spec.entry_point = "Model";
  spec.arena_bytes = 8192;
  spec.input_names = {"x", "y"};
  auto back = decode_call_spec(encode(spec));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->entry_point, "Model");
  EXPECT_EQ(back->input_names.size(), 2U);
}

}  // namespace
}  // namespace kw::wire
