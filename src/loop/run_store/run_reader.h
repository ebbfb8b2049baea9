// TraceReader: reads traces one at a time, in a stable order, from any storage. RunReader: reads a run and
// its Summary from run.db on a separate connection, also while another program writes it.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/core/result.h"
#include "loop/run_store/database.h"
#include "types/trace.h"

namespace kw::store {

// Summary: the statistics of a run.
struct Summary {
  std::uint64_t traces = 0;
  std::uint64_t ended = 0;
  std::uint64_t correct = 0;   // correct and counting, in at least one turn
  std::uint64_t measured = 0;  // of these: with a speed-up
  std::uint64_t fast_1 = 0;    // of these: more than 1.0 times as fast
  std::uint64_t fast_2 = 0;    // of these: at least 2.0 times as fast
  std::uint64_t turns = 0;
  std::uint64_t prompt_tokens = 0;
  std::uint64_t completion_tokens = 0;
  double generation_s = 0;  // sum over all answers
  std::vector<std::pair<std::string, std::uint64_t>>
      stop_reasons;      // of traces that ended, the most frequent first
  double elapsed_s = 0;  // from the first start of a trace to the last end, including pauses
};

// What a run knows about itself as a whole.
struct RunFacts {
  RunInfo info;
  Summary summary;
};

// TraceReader: reads traces one at a time, in a stable order, from any storage.
class TraceReader {
 public:
  virtual ~TraceReader() = default;

  // The next trace; empty at the end. After an error there are no more.
  virtual Result<std::optional<Trace>> next() = 0;

  // Empty for storage that has traces alone: files of JSON.
  virtual Result<std::optional<RunFacts>> facts() { return std::nullopt; }
};

boost::json::object to_json(const Summary& summary);

// Lines of text; each ends with a newline.
std::string in_words(const Summary& summary);

// RunReader: reads the database of a run on a separate connection, also while another program writes it.
enum class Which { all, ended };  // which traces next() returns

// A trace in the database.
struct TracePlace {
  std::int64_t id = 0;
  std::string ended_at;  // empty: not ended
};

// Reads a snapshot as of the first read. One thread at a time may use it.
class RunReader : public TraceReader {
 public:
  // `path`: the run folder or its run.db.
  static Result<std::unique_ptr<RunReader>> open(const std::filesystem::path& path, Which which = Which::all);
  ~RunReader() override;

  // In the order of their starts.
  Result<std::optional<Trace>> next() override;
  Result<std::optional<RunFacts>> facts() override;

  // All traces of the run, in the order of their starts, without reading them.
  Result<std::vector<TracePlace>> places();
  // The trace at a place; empty if there is none. An error concerns this trace alone.
  Result<std::optional<Trace>> at(std::int64_t id);

  Result<RunInfo> info();
  Result<Summary> summary();

 private:
  struct State;
  explicit RunReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Opens RUN of a command line: a run folder or its run.db, of which it reads the ended traces, or exported or
// recorded JSON (a list, or one trace per line).
Result<std::unique_ptr<TraceReader>> open_run(const std::filesystem::path& path);

}  // namespace kw::store
