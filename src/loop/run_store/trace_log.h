// TraceLog: stores turns. Each call returns when its transaction is on disk.
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>

#include "base/async/loop.h"
#include "base/core/result.h"
#include "types/trace.h"

namespace kw::store {

// One sample of a task in a run.
struct TraceKey {
  std::string task_id;
  std::size_t sample_number = 0;
  auto operator<=>(const TraceKey&) const = default;
};

class TraceLog {
 public:
  virtual ~TraceLog() = default;

  // The stored trace of an earlier run, with its turns; empty if it is new.
  virtual async::Task<Result<std::optional<Trace>>> find(const TraceKey& key) = 0;

  // Stores task, prompt and sampling of a new trace; no change for an existing one.
  virtual async::Task<Result<>> begin(const TraceKey& key, const Trace& trace) = 0;

  // Inserts or replaces turn `turn.turn` of that round: first with the answer alone, so that an answer that
  // took minutes survives a crash.
  virtual async::Task<Result<>> save(const TraceKey& key, std::size_t round, const Turn& turn) = 0;

  // Replaces the verdict and the feedback of a saved turn: first with the verdict alone, then with both. The
  // answer stays as it was saved, so the caller need not keep all of it.
  virtual async::Task<Result<>> save_judgement(const TraceKey& key, std::size_t round, const Turn& turn) = 0;

  // Ends a round. `last`: no other round follows, the trace has ended.
  virtual async::Task<Result<>> end(const TraceKey& key, std::size_t round, const Conversation& conversation,
                                    bool last) = 0;

  // A stored verdict on that work (Verdict::work) without a fault of the infrastructure.
  virtual async::Task<Result<std::optional<Verdict>>> known_verdict(const std::string& work) = 0;
};

}  // namespace kw::store
