#include "verdict_world.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/run_task.h"

namespace kw::test {

using engine::ServerMode;

namespace {

constexpr const char* reference = "class Model:\n    pass\n";
constexpr const char* candidate =
    "import triton\n\n@triton.jit\ndef add(x):\n    pass\n\nclass ModelNew:\n    pass\n";

// For comparing two versions of the engine: the messages to each test's workers, and the verdict without its
// times, are written to $KW_TRANSCRIPTS/SUITE.TEST.
void write_transcript(const std::string& exchange, const Verdict& verdict) {
  const char* folder = std::getenv("KW_TRANSCRIPTS");
  if (folder == nullptr) return;
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::string name = fmt::format("{}.{}", test->test_suite_name(), test->name());
  std::ranges::replace(name, '/', '.');
  auto object = to_json(verdict);
  object.erase("stages_ms");
  std::ofstream file(std::filesystem::path(folder) / name, std::ios::app);
  file << exchange << "\n" << boost::json::serialize(object) << "\n";
}

}  // namespace

VerdictWorld::VerdictWorld(verify::Device device)
    : oracles(loop, servers.oracle, {.size = 2, .limits = {}}),
      context{.loop = loop,
              .stop = stop,
              .settings = settings,
              .servers = servers,
              .seeds = seeds,
              .oracles = oracles,
              .runners = runners,
              .plain_runners = plain_runners,
              .replayers = replayers,
              .wide_replayers = wide_replayers,
              .leases = leases,
              .timing_turns = timing_turns,
              .limits = {},
              .tapes = tapes,
              .clock_floor = clock_floor,
              .wait_floor = wait_floor,
              .marks_floor = marks_floor,
              .censuses = censuses,
              .why_no_replay = {},
              .timeline = {},
              .environment = {}} {
  censuses.keep(fake_capability, census::Census({library_code}));
  settings.device = device;
  settings.audit = 0;
  settings.timing_trials = 40;
  settings.timeout = std::chrono::milliseconds(5000);
  fake.spec.entry_point = "Model";
  fake.spec.arena_bytes = 1 << 16;
  fake.spec.outputs_offset = 4096;
  fake.spec.input_bytes = 128;
  fake.spec.output_bytes = 64;
  job.id = "a";
  job.task.task_id = "sample/add";
  job.task.reference_code = reference;
  job.candidate.code = candidate;
}

VerdictWorld::~VerdictWorld() {
  run_task(loop, [](VerdictWorld* world) -> async::Task<bool> {
    for (auto* pool : {&world->runners, &world->plain_runners, &world->replayers, &world->wide_replayers})
      co_await pool->end();
    co_await world->oracles.end();
    world->servers = {};
    co_return true;
  }(this));
  loop.restart();
  loop.run_for(std::chrono::seconds(10));
  EXPECT_TRUE(loop.stopped()) << "a coroutine waits for ever";
  EXPECT_EQ(fake.living(), 0) << "a worker was left";
}

void VerdictWorld::start_servers() {
  if (servers.oracle) return;
  run_task(loop, [](VerdictWorld* world) -> async::Task<bool> {
    auto& to = world->servers;
    to.oracle = co_await world->fake.start(ServerMode::oracle, world->stop);
    if (world->settings.device == verify::Device::cpu) {
      to.compile = co_await world->fake.start(ServerMode::compile, world->stop);
      to.interpret = co_await world->fake.start(ServerMode::interpret, world->stop);
      co_return true;
    }
    to.cuda = co_await world->fake.start(ServerMode::cuda, world->stop);
    to.replayer = co_await world->fake.start(ServerMode::replayer, world->stop);
    to.broker = co_await world->fake.start(ServerMode::broker, world->stop);
    co_return true;
  }(this));
}

void VerdictWorld::end_idle_oracles() {
  run_task(loop, [](VerdictWorld* world) -> async::Task<bool> {
    co_await world->oracles.end_idle();
    co_return true;
  }(this));
}

Verdict VerdictWorld::run() {
  start_servers();
  fake.forget_asked();
  verify::Attempt attempt(context, job, settings, job_stop, earlier);
  run_task(loop, [](verify::Attempt* of) -> async::Task<bool> {
    co_await of->run();
    co_return true;
  }(&attempt));
  stopped = attempt.stopped();
  result = attempt.result();
  if (result.lost_its_oracle) ++earlier.oracles_lost;
  write_transcript(exchange() + (stopped ? "\nstopped" : ""), attempt.verdict());
  return attempt.verdict();
}

std::string VerdictWorld::exchange() const {
  std::string text;
  std::string last;
  int times = 0;
  auto flush = [&] {
    if (times == 0) return;
    text += (text.empty() ? "" : ", ") + last + (times > 1 ? fmt::format(" x{}", times) : "");
  };
  for (const std::string& each : fake.asked()) {
    if (each.starts_with("broker")) continue;
    if (each == last) {
      ++times;
      continue;
    }
    flush();
    last = each;
    times = 1;
  }
  flush();
  return text;
}

bool VerdictWorld::finds(const Verdict& verdict, std::string_view words) {
  if (!verdict.comparison) return false;
  for (const std::string& each : verdict.comparison->findings)
    if (each.contains(words)) return true;
  return false;
}

std::string VerdictWorld::why_no_replay(const Verdict& verdict) {
  return verdict.replay ? verdict.replay->why_not.value_or("") : "no replay";
}

}  // namespace kw::test
