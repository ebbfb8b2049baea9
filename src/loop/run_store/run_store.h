// RunStore: a TraceLog in one SQLite file, run.db in the folder of a run. One thread owns the connection;
// writes that are queued during a transaction go into the next one, and each caller resumes when its write is
// on disk.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "loop/run_store/database.h"
#include "loop/run_store/run_reader.h"
#include "loop/run_store/trace_log.h"

namespace kw::store {

class RunStore : public TraceLog {
 public:
  // Creates missing folder and database. Refuses a run that another program has open, a run with other
  // settings (names each), and a file that is not a run, is damaged, or comes from a newer version. `fresh`
  // renames an existing run.db, as move_aside() does, and starts a new run.
  static Result<std::unique_ptr<RunStore>> open(async::Loop& loop, const std::filesystem::path& folder,
                                                const RunInfo& info, bool fresh);
  // Writes the queue first.
  ~RunStore() override;

  async::Task<Result<std::optional<Trace>>> find(const TraceKey& key) override;
  async::Task<Result<>> begin(const TraceKey& key, const Trace& trace) override;
  // Both reopen an ended round, so that an interrupted one can continue.
  async::Task<Result<>> save(const TraceKey& key, std::size_t round, const Turn& turn) override;
  async::Task<Result<>> save_judgement(const TraceKey& key, std::size_t round, const Turn& turn) override;
  async::Task<Result<>> end(const TraceKey& key, std::size_t round, const Conversation& conversation,
                            bool last) override;
  async::Task<Result<std::optional<Verdict>>> known_verdict(const std::string& work) override;
  async::Task<Result<Summary>> summary();

  // Runs the work on a separate thread, one after another. If work of that name is already queued, the call
  // shares its result and drops `work`.
  async::Task<Result<>> in_background(std::string name, std::move_only_function<Result<>()> work);

  // run.db
  const std::filesystem::path& path() const;
  // The renamed run.db of the run that `fresh` replaced; empty if there was none.
  const std::filesystem::path& replaced() const;

 private:
  struct State;
  explicit RunStore(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kw::store
