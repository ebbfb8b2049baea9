// RunStore: a TraceLog in one SQLite file, run.db in the folder of a run. One thread owns the connection;
// what is queued while it writes goes into its next transaction, and each caller resumes when that is on
// disk.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "store/run_info.h"
#include "store/summary.h"
#include "store/trace_log.h"

namespace kw::store {

class RunStore : public TraceLog {
 public:
  // Makes the folder and the database where they are missing. Refused: a run that another program has open,
  // one made with other settings (each is named), and a file that is no run, is damaged, or comes from a
  // newer version. `fresh` moves the run that is there aside, to run.db.1, and starts a new one.
  static Result<std::unique_ptr<RunStore>> open(async::Loop& loop, const std::filesystem::path& folder,
                                                const RunInfo& info, bool fresh);
  // Writes what is queued first.
  ~RunStore() override;

  async::Task<Result<std::optional<Trace>>> find(const TraceKey& key) override;
  async::Task<Result<>> begin(const TraceKey& key, const Trace& trace) override;
  // A round that had ended is open again: what broke off may be taken up.
  async::Task<Result<>> save(const TraceKey& key, std::size_t round, const Turn& turn) override;
  async::Task<Result<>> end(const TraceKey& key, std::size_t round, const Conversation& conversation,
                            bool last) override;
  async::Task<Result<std::optional<Verdict>>> known_verdict(const std::string& work) override;
  async::Task<Result<Summary>> summary();

  // Runs the work on a thread beside the loop and the database's, one after another. A call whose name waits
  // there already shares in that one's result: `work` is dropped.
  async::Task<Result<>> in_background(std::string name, std::move_only_function<Result<>()> work);

  // run.db
  const std::filesystem::path& path() const;

 private:
  struct State;
  explicit RunStore(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kw::store
