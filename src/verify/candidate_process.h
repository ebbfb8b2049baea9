// The process that runs one candidate: it is loaded, called, recorded, and killed. What goes wrong in it is
// the candidate's fault, unless its fork server died too.
#pragma once

#include <memory>
#include <string>

#include "verify/ended.h"
#include "verify/settings.h"

namespace kw::verify {

class CandidateProcess {
 public:
  CandidateProcess(Device device, async::Stop& stop) : device_(device), stop_(stop) {}

  // Takes a worker that `from` forked.
  Outcome<> start(Result<std::unique_ptr<engine::Worker>> worker, std::shared_ptr<engine::ForkServer> from);
  async::Task<> end();

  async::Task<Outcome<wire::LoadedT>> load(wire::LoadT request, const std::string& code, int call_spec,
                                           int arena, async::Deadline deadline);
  // `arena` is -1 where no call is made.
  async::Task<Outcome<wire::ReturnedT>> call(wire::CallT request, int arena, async::Deadline deadline);
  // A refusal may say that such a call cannot be recorded; else blame() says what it means.
  async::Task<std::expected<engine::Recorded, engine::Refusal>> record(wire::RecordT request, int arena,
                                                                       async::Deadline deadline);
  // Whole calls by its own clock: a claim.
  async::Task<std::expected<wire::TimedT, engine::Refusal>> time(wire::TimeCandidateT request,
                                                                 async::Deadline deadline);
  Ended blame(engine::Refusal refusal, Stage stage) const;

  std::uint32_t layers() const { return runner_->layers(); }

 private:
  Device device_;
  async::Stop& stop_;
  std::unique_ptr<engine::Runner> runner_;
  std::shared_ptr<engine::ForkServer> forked_by_;
};

}  // namespace kw::verify
