// VerdictDesk: verdicts on candidates, each got once. At most as many at a time as the verifier is wide.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "async/event.h"
#include "async/stop.h"
#include "base/result.h"
#include "schema/job.h"
#include "store/trace_log.h"
#include "verify/verifier.h"

namespace kw::refine {

class VerdictDesk {
 public:
  VerdictDesk(async::Loop& loop, async::Stop& stop, verify::Verifier& verifier, store::TraceLog& log)
      : loop_(loop), stop_(stop), verifier_(verifier), log_(log) {}

  // Nothing where a stop was requested first. An equal candidate that is being judged shares its verdict; one
  // that was judged before has it from the log, unless that verdict blames the infrastructure. Where the
  // job's fields of identity differ from an equal one's, they are the caller's to set. `job` must outlive the
  // wait.
  async::Task<Result<std::optional<Verdict>>> verdict_for(const Job& job);

  // The verdict is in the log, which answers for it from now on.
  void saved(const Job& job) { shared_.erase(key_of(job)); }

 private:
  struct Shared {
    explicit Shared(async::Loop& loop) : done(loop) {}
    async::Event done;
    Result<std::optional<Verdict>> verdict;
  };

  static std::string key_of(const Job& job);
  async::Task<Result<std::optional<Verdict>>> first_of_its_kind(const Job& job);
  async::Task<> take_place();
  void give_place();

  async::Loop& loop_;
  async::Stop& stop_;
  verify::Verifier& verifier_;
  store::TraceLog& log_;
  std::map<std::string, std::shared_ptr<Shared>> shared_;
  std::size_t running_ = 0;
  std::deque<std::shared_ptr<async::Event>> waiting_;  // for a place, in order
};

}  // namespace kw::refine
