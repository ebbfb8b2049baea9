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
  // An error, for example of a full disk, ends the run.
  std::function<Result<>(const Job&, const Verdict&)> judged;
  std::function<void(const RowError&)> bad_row;
  // True if an earlier run has judged this row: skip it. An error ends the run.
  std::function<Result<bool>(const Job&, const std::string& work)> done_before;
  // The stored verdict on equal work, from this run or an earlier one.
  std::function<std::optional<Verdict>(const std::string& work)> known;
};

// Reads jobs until one needs more than its source text, at most so many. Bad rows are reported at once.
struct Ahead {
  SourcePtr source;  // all jobs, including those that were read
  bool needs_more = false;
};

Ahead look_ahead(SourcePtr source, const std::function<bool(const Job&)>& needs_more,
                 const std::function<void(const RowError&)>& bad_row);

class Pipeline {
 public:
  Pipeline(async::Loop& loop, async::Stop& stop, verify::Verifier& verifier, PipelineHooks hooks);

  // Ends when the source ends or a stop is requested; all started jobs have ended then. Returns an error if
  // the source or a hook fails; a hook's failure also requests a stop.
  async::Task<Result<>> run(Source& source);

 private:
  async::Task<Result<>> read(Source& source);
  async::Task<> judge(std::shared_ptr<const Job> job);
  async::Task<std::optional<Verdict>> known(std::string work);
  void broke(Error error);
  async::Task<> room();

  async::Loop& loop_;
  async::Stop& stop_;
  PipelineHooks hooks_;
  verify::SharedVerifier verifier_;
  async::Event changed_;
  std::size_t jobs_read_ = 0;
  std::size_t in_flight_ = 0;
  std::optional<Error> trouble_;  // the first failure of a hook
};

}  // namespace kw::app
