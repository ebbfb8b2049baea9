// Jobs in, verdicts out: as many at once as the verifier is wide, each result handed on as it comes.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "async/event.h"
#include "async/stop.h"
#include "schema/job.h"
#include "schema/verdict.h"
#include "tasks/job_source.h"
#include "verify/shared_verifier.h"

namespace kw::app {

// `work` is the job's key: verify/work_key.h.
struct PipelineHooks {
  std::function<void(const Job&, const Verdict&)> judged;
  std::function<void(const RowError&)> bad_row;
  // An earlier run has done this very row: it is passed over.
  std::function<bool(const Job&, const std::string& work)> done_before;
  // The verdict on equal work that was written, by this run or an earlier one.
  std::function<std::optional<Verdict>(const std::string& work)> known;
};

class Pipeline {
 public:
  Pipeline(async::Loop& loop, async::Stop& stop, verify::Verifier& verifier, PipelineHooks hooks);

  // Until the source ends or a stop is requested; all that was started has ended then. An error where the
  // source is broken, or where a hook threw: nothing more is started after that.
  async::Task<Result<>> run(JobSource& source);

 private:
  async::Task<Result<>> read(JobSource& source);
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
  std::optional<Error> trouble_;  // what a hook threw first
};

}  // namespace kw::app
