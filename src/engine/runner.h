// The runner imports one candidate, calls it, and dies.
#pragma once

#include <memory>
#include <string>

#include "engine/exchange.h"
#include "engine/progress_page.h"

namespace kw::engine {

// What the recorder in a runner wrote down of one call. Nobody has looked into the files yet.
struct Recorded {
  wire::RecordedT facts;
  Fd recording;
  Fd kernels;  // what Triton lowered, for the broker
  Fd state;    // exported device memory; none where nothing was allocated
};

class Runner {
 public:
  Runner(std::unique_ptr<Worker> worker, ProgressPage page)
      : worker_(std::move(worker)), page_(std::move(page)) {}

  async::Task<std::expected<wire::LoadedT, Refusal>> load(wire::LoadT request, std::string code,
                                                          int call_spec, int arena, async::Deadline deadline);
  async::Task<std::expected<wire::ReturnedT, Refusal>> call(wire::CallT request, int arena,
                                                            async::Deadline deadline);
  // One call that the recorder writes down; its inputs lie at request.input_address.
  async::Task<std::expected<Recorded, Refusal>> record(wire::RecordT request, int arena,
                                                       async::Deadline deadline);
  async::Task<std::expected<wire::TimedT, Refusal>> time(wire::TimeCandidateT request,
                                                         async::Deadline deadline);
  async::Task<Exit> end() { return worker_->end(); }

  // What the runner itself last said of where it is: may be forged, and then to its own harm only.
  bool in_launch() const { return page_.in_launch(); }
  std::string printed() const { return worker_->printed(); }
  std::uint32_t layers() const { return worker_->layers(); }

 private:
  std::unique_ptr<Worker> worker_;
  ProgressPage page_;
};

}  // namespace kw::engine
