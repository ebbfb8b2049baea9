// Small traces, and a loop on which calls of a store are waited for.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <memory>
#include <string>
#include <utility>

#include "base/async/loop.h"
#include "loop/run_store/run_store.h"
#include "support/world.h"
#include "types/job.h"
#include "types/trace.h"

namespace kw::store {

inline Verdict judged(Status status, std::optional<double> speedup = {}) {
  Verdict v;
  v.id = "row";
  v.task_id = "kernelbook/7";
  v.status = status;
  v.stage = Stage::done;
  v.speedup = speedup;
  if (status == Status::correct) v.counts = true;
  if (status == Status::failed || status == Status::incorrect) v.fault = Fault::kernel;
  if (status == Status::failed) v.error = "it broke";
  v.trust = Trust::in_process;
  v.environment.protocol = "p1";
  return v;
}

inline Turn turn(std::size_t number, const std::string& code, std::optional<Verdict> verdict = {}) {
  Turn t;
  t.turn = number;
  t.reasoning = "thought " + std::to_string(number);
  t.completion = "First this.\n<triton>\n" + code + "\n</triton>";
  t.code = code;
  t.model = "tiny";
  t.finish_reason = "stop";
  t.usage = {100, 20, 5};
  t.generation_ms = 1500;
  t.answered_at = "2026-01-02T03:04:05.000006Z";
  if (verdict) verdict->candidate_sha256 = candidate_sha256(code);
  t.verdict = std::move(verdict);
  return t;
}

inline Trace trace(const std::string& uuid = "7", const std::string& source = "kernelbook") {
  Trace t;
  t.task.source = source;
  t.task.task_id = source + "/" + uuid;
  t.task.name = "Net";
  t.task.reference_code = "class Net: pass";
  t.task.entry_point = "Net";
  t.task.licence = "MIT";
  t.task.repo = "https://example.org/net";
  t.prompt = {{"system", "Write kernels."}, {"user", "Convert this."}};
  t.sampling = {{"temperature", 0.5}};
  return t;
}

// Three turns of one round: wrong, slow, fast.
inline Trace three_turns() {
  Trace t = trace();
  Conversation& round = t.rounds.emplace_back();
  round.turns = {turn(1, "a", judged(Status::failed)), turn(2, "b", judged(Status::correct, 0.8)),
                 turn(3, "c", judged(Status::correct, 2.5))};
  round.turns[0].feedback = "It broke.";
  round.turns[1].feedback = "Too slow.";
  round.stop_reason = StopReason::success_fast;
  t.ended_at = "2026-01-02T03:05:00.000000Z";
  return t;
}

inline TraceKey key_of(const Trace& t) {
  return {t.task.task_id, t.sample_number};
}

// Runs the loop until the task has ended.
template <typename T>
T wait_for(async::Loop& loop, async::Task<T> task) {
  std::optional<T> value;
  auto keep = [](async::Task<T> work, std::optional<T>* into) -> async::Task<> {
    into->emplace(co_await std::move(work));
  };
  boost::asio::co_spawn(loop, keep(std::move(task), &value), [](std::exception_ptr thrown) {
    if (thrown) std::rethrow_exception(thrown);
  });
  loop.restart();
  loop.run();
  return std::move(*value);
}

// A run in a temporary folder.
struct World {
  Folder folder;
  async::Loop loop;
  std::unique_ptr<RunStore> store;

  std::string run() const { return folder.path("x.run"); }

  Result<> open(boost::json::object settings = {}, bool fresh = false) {
    store.reset();
    RunInfo info;
    info.settings = std::move(settings);
    info.config_toml = "a = 1\n";
    info.program_version = "0.1";
    info.git_revision = "abc";
    auto opened = RunStore::open(loop, run(), std::move(info), fresh);
    if (!opened) return std::unexpected(opened.error());
    store = std::move(*opened);
    return {};
  }

  template <typename T>
  T wait(async::Task<T> task) {
    return wait_for(loop, std::move(task));
  }

  // All of the loop's writes for the trace.
  void keep(const Trace& t) {
    ASSERT_TRUE(wait(store->begin(key_of(t), t)));
    for (std::size_t round = 0; round < t.rounds.size(); ++round) {
      for (const Turn& each : t.rounds[round].turns) ASSERT_TRUE(wait(store->save(key_of(t), round, each)));
      bool last = round + 1 == t.rounds.size();
      if (t.rounds[round].stop_reason) {
        ASSERT_TRUE(wait(store->end(key_of(t), round, t.rounds[round], last)));
      }
    }
  }
};

}  // namespace kw::store
