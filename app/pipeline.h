// Jobs in, verdicts out: as many at once as the verifier is wide, each result handed on as it comes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "async/event.h"
#include "async/stop.h"
#include "schema/job.h"
#include "schema/verdict.h"
#include "tasks/job_source.h"
#include "verify/verifier.h"

namespace kw::app {

struct PipelineHooks {
  std::function<void(const Job&, const Verdict&)> judged;
  std::function<void(const RowError&)> bad_row;
  // A verdict of an earlier run for this very work: it is not done again.
  std::function<bool(const Job&)> done_before;
  // A verdict for the same candidate on the same task, from an earlier run.
  std::function<std::optional<Verdict>(const Job&)> known;
};

class Pipeline {
 public:
  Pipeline(async::Loop& loop, async::Stop& stop, verify::Verifier& verifier, PipelineHooks hooks)
      : loop_(loop), stop_(stop), verifier_(verifier), hooks_(std::move(hooks)), changed_(loop) {}

  // Until the source ends or a stop is requested; an error where the source itself is broken.
  async::Task<Result<>> run(JobSource& source);

 private:
  // Equal candidates on one task share the verdict of the first.
  struct Shared {
    explicit Shared(async::Loop& loop) : done(loop) {}
    async::Event done;
    std::optional<Verdict> verdict;
  };

  async::Task<> judge(std::shared_ptr<Job> job);
  async::Task<std::optional<Verdict>> verdict_for(const Job& job);
  async::Task<> room();

  async::Loop& loop_;
  async::Stop& stop_;
  verify::Verifier& verifier_;
  PipelineHooks hooks_;
  async::Event changed_;
  std::map<std::string, std::shared_ptr<Shared>> shared_;
  std::size_t in_flight_ = 0;
};

}  // namespace kw::app
