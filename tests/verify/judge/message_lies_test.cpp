// Messages that no honest process sends: damaged bytes, extreme numbers, other kinds, missing descriptors. A
// process that a candidate or a reference owns can send them. Each round is drawn from its number;
// KW_LIE_ROUNDS sets how many.
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>

#include "types/evidence.h"
#include "verdict_world.h"

namespace kw::verify {
namespace {

using namespace test;
using wire::Body;
using Random = std::mt19937_64;

int rounds() {
  const char* asked = std::getenv("KW_LIE_ROUNDS");
  return asked != nullptr ? std::atoi(asked) : 40;
}

std::size_t below(Random& random, std::size_t limit) {
  return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
}

// Overwrites eight bytes with a number that arithmetic and limits stumble over.
void put_extreme(std::string& packet, Random& random) {
  constexpr double doubles[] = {std::numeric_limits<double>::quiet_NaN(),
                                std::numeric_limits<double>::infinity(), -1e300, 1e-300, -0.0};
  constexpr std::uint64_t integers[] = {~0ULL, 1ULL << 63, 0, 0xFFFFFFFF};
  if (packet.size() < 8) return;
  const std::size_t at = below(random, packet.size() / 8) * 8;
  if (below(random, 2) == 0)
    std::memcpy(packet.data() + at, &doubles[below(random, std::size(doubles))], 8);
  else
    std::memcpy(packet.data() + at, &integers[below(random, std::size(integers))], 8);
}

// A Returned of hostile size and text.
std::string flood(Random& random) {
  wire::ReturnedT answer;
  answer.launch_count = ~0ULL;
  answer.ms = std::numeric_limits<double>::quiet_NaN();
  for (int i = 0; i < 200; ++i) {
    auto launch = std::make_unique<wire::LaunchT>();
    launch->name = std::string(1 + below(random, 100), '\x1b') + "\xff\n<script>";
    launch->grid = {~0ULL, 0, 7, 7};
    launch->ms = std::numeric_limits<double>::infinity();
    answer.launches.push_back(std::move(launch));
  }
  return wire::encode(std::move(answer));
}

std::string plea(Random& random) {
  constexpr const char* classes[] = {"infrastructure", "task_invalid", "out_of_memory", "none", "",
                                     "\xff",           "too_large"};
  constexpr const char* stages[] = {"prepare", "time", "", "nowhere"};
  wire::FailedT failed;
  failed.error_class = classes[below(random, std::size(classes))];
  failed.stage = stages[below(random, std::size(stages))];
  failed.error = "the judge's disk is full\x1b[2J\xff" + std::string(below(random, 40'000), 'x');
  failed.line = std::numeric_limits<int>::max();
  failed.file = "/etc/passwd";
  return wire::encode(std::move(failed));
}

std::string without_content(Body kind) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(wire::CreatePacket(builder, kind));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

// The honest packet, damaged.
std::string damaged(std::string packet, Random& random) {
  for (std::size_t changes = 1 + below(random, 4); changes > 0; --changes)
    if (below(random, 2) == 0)
      packet[below(random, packet.size())] ^= static_cast<char>(1 << below(random, 8));
    else
      put_extreme(packet, random);
  return packet;
}

std::string lie(const wire::BodyUnion& honest, Random& random) {
  switch (below(random, 9)) {
    case 0:
      return flood(random);
    case 1:
      return plea(random);
    case 2:
      return wire::encode(wire::ReadyT{});
    case 3:
      return without_content(honest.type);
    case 4: {
      std::string packet = wire::encode_body(honest);
      packet.resize(1 + below(random, packet.size()));
      return packet;
    }
    default:
      return damaged(wire::encode_body(honest), random);
  }
}

// One of four answers is a lie, and one of eight lies comes without its descriptors.
React lies(Random& random) {
  return [&random](const wire::BodyUnion&, Reaction& usual) {
    if (below(random, 4) != 0) return;
    usual.packet = lie(usual.answer, random);
    if (below(random, 8) == 0) usual.fds.clear();
  };
}

void let_lie(VerdictWorld& world, const std::string& role, std::initializer_list<Body> messages,
             Random& random) {
  for (Body message : messages) world.fake.when(role, message, lies(random));
}

// A consumer can store, read and show it.
void expect_sound(const Verdict& verdict) {
  const std::string text = boost::json::serialize(to_json(verdict));
  auto again = verdict_from_json(to_json(verdict));
  ASSERT_TRUE(again) << again.error().what << "\n" << text.substr(0, 2000);
  EXPECT_EQ(again->status, verdict.status);
  if (verdict.speedup)
    EXPECT_TRUE(std::isfinite(*verdict.speedup) && *verdict.speedup > 0) << *verdict.speedup;
  EXPECT_LE(text.size(), 2 * max_evidence_bytes);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  if (verdict.error) EXPECT_EQ(verdict.error->find('\x1b'), std::string::npos);
}

struct JudgedPath {
  const char* name;
  Device device;
  bool replay;
};

class MessageLies : public testing::TestWithParam<JudgedPath> {
 protected:
  static std::unique_ptr<VerdictWorld> world(int round) {
    auto made = std::make_unique<VerdictWorld>(GetParam().device);
    made->settings.replay = GetParam().replay;
    made->settings.timing_trials = 10;
    made->settings.correctness_trials = 2;
    made->settings.timeout = std::chrono::milliseconds(2000);
    made->seeds = SecretSeeds("lies " + std::to_string(round));
    return made;
  }
};

constexpr auto of_candidates = {Body::Load, Body::Call, Body::Record, Body::TimeCandidate};
constexpr auto of_replayers = {Body::LoadRecording, Body::Replay};

TEST_P(MessageLies, NoLieMakesAWrongCandidateRight) {
  for (int round = 0; round < rounds(); ++round) {
    SCOPED_TRACE(round);
    Random random(static_cast<std::uint64_t>(round));
    auto world = this->world(round);
    world->fake.when("oracle", Body::Judge, judges_wrong());
    let_lie(*world, "runner", of_candidates, random);
    let_lie(*world, "replayer", of_replayers, random);
    const Verdict verdict = world->run();
    EXPECT_NE(verdict.status, Status::correct);
    expect_sound(verdict);
  }
}

TEST_P(MessageLies, NoLieOfARunnerMakesTheFaultOurs) {
  for (int round = 0; round < rounds(); ++round) {
    SCOPED_TRACE(round);
    Random random(static_cast<std::uint64_t>(round));
    auto world = this->world(round);
    let_lie(*world, "runner", of_candidates, random);
    const Verdict verdict = world->run();
    EXPECT_NE(verdict.fault, Fault::infrastructure) << *verdict.error << "\n" << world->exchange();
    EXPECT_NE(verdict.fault, Fault::task) << *verdict.error;
    EXPECT_NE(verdict.error_class, ErrorClass::infrastructure);
    EXPECT_NE(verdict.error_class, ErrorClass::task_invalid);
    expect_sound(verdict);
  }
}

TEST_P(MessageLies, EveryLieOfAnOracleEndsInAVerdict) {
  for (int round = 0; round < rounds(); ++round) {
    SCOPED_TRACE(round);
    Random random(static_cast<std::uint64_t>(round));
    auto world = this->world(round);
    let_lie(*world, "oracle", {Body::Prepare, Body::Draw, Body::Judge, Body::TimeReference}, random);
    expect_sound(world->run());
  }
}

INSTANTIATE_TEST_SUITE_P(Paths, MessageLies,
                         testing::Values(JudgedPath{"cpu", Device::cpu, false},
                                         JudgedPath{"replay", Device::cuda, true},
                                         JudgedPath{"in_process", Device::cuda, false}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace kw::verify
