// Verifies jobs. Keeps as many in flight as the verifier is wide, and reports each result at once.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/async/wait.h"
#include "loop/tasks/source.h"
#include "types/job.h"
#include "types/verdict.h"
#include "verify/api/shared_verifier.h"

namespace kw::app {

// `work` is the job's key: verify/api/shared_verifier.h.
struct PipelineHooks {
  std::function<void(const Job&, const Verdict&)> judged;
  std::function<void(const RowError&)> bad_row;
  // An earlier run has judged this row: skip it.
  std::function<bool(const Job&, const std::string& work)> done_before;
  // The stored verdict on equal work, from this run or an earlier one.
  std::function<std::optional<Verdict>(const std::string& work)> known;
};

class Pipeline {
 public:
  Pipeline(async::Loop& loop, async::Stop& stop, verify::Verifier& verifier, PipelineHooks hooks);

  // Ends when the source ends or a stop is requested; all started jobs have ended then. Returns an error if
  // the source fails or a hook throws; after that no job starts.
  async::Task<Result<>> run(Source& source);

 private:
  async::Task<Result<>> read(Source& source);
  async::Task<> judge(std::shared_ptr<const Job> job);
  async::Task<std::optional<Verdict>> known(std::string work);
  void broke(const std::exception_ptr& thrown);
  async::Task<> room();

  async::Loop& loop_;
  async::Stop& stop_;
  PipelineHooks hooks_;
  verify::SharedVerifier verifier_;
  async::Event changed_;
  std::size_t in_flight_ = 0;
  std::optional<Error> trouble_;  // the first exception of a hook
};

}  // namespace kw::app
