// RunReader: reads the database of a run on a connection of its own, also while another program writes it.
#pragma once

#include <filesystem>
#include <memory>

#include "base/result.h"
#include "store/run_info.h"
#include "store/summary.h"
#include "store/trace_reader.h"

namespace kw::store {

enum class Which { all, ended };  // which traces next() gives

// Sees the run as it was at the first read. May be used by one thread at a time, any thread.
class RunReader : public TraceReader {
 public:
  // `path`: the run folder or its run.db.
  static Result<std::unique_ptr<RunReader>> open(const std::filesystem::path& path, Which which = Which::all);
  ~RunReader() override;

  // In the order in which they were begun.
  Result<std::optional<Trace>> next() override;

  Result<RunInfo> info();
  Result<Summary> summary();

 private:
  struct State;
  explicit RunReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// RUN on a command line: a run folder or its run.db, of which the traces that have ended are read, or
// exported or recorded JSON (a list, or one trace a line).
Result<std::unique_ptr<TraceReader>> open_run(const std::filesystem::path& path);

}  // namespace kw::store
