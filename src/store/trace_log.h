// TraceLog: where turns are kept. Each call has ended when its transaction is on disk.
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>

#include "async/loop.h"
#include "base/result.h"
#include "schema/trace.h"

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

  // What an earlier run left of it, with its turns; nothing where it is new.
  virtual async::Task<Result<std::optional<Trace>>> find(const TraceKey& key) = 0;

  // Task, prompt and sampling of a new trace; again for one that is there changes nothing.
  virtual async::Task<Result<>> begin(const TraceKey& key, const Trace& trace) = 0;

  // Inserts or replaces turn `turn.turn` of that round: first with the answer alone, so that what a model
  // took minutes to write outlives a crash, then with its verdict, then with the feedback.
  virtual async::Task<Result<>> save(const TraceKey& key, std::size_t round, const Turn& turn) = 0;

  // Ends a round. `last`: no other will follow, the trace has ended.
  virtual async::Task<Result<>> end(const TraceKey& key, std::size_t round, const Conversation& conversation,
                                    bool last) = 0;

  // A verdict on that work (Verdict::work) that is no fault of the infrastructure.
  virtual async::Task<Result<std::optional<Verdict>>> known_verdict(const std::string& work) = 0;
};

}  // namespace kw::store
