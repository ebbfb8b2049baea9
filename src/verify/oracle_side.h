// The oracle's side of one verdict: an oracle of the pool, the task that it prepared, what it draws and how
// it judges.
#pragma once

#include <memory>
#include <string>

#include "schema/job.h"
#include "verify/ended.h"

namespace kw::verify {

class OracleSide {
 public:
  OracleSide(Context& context, const Job& job, const Settings& settings, async::Stop& stop)
      : context_(context), job_(job), settings_(settings), stop_(stop) {}

  async::Task<Outcome<>> take();
  // The task at these limits. What was prepared before is forgotten.
  async::Task<Outcome<>> prepare(std::uint64_t max_bytes, std::uint32_t halvings);
  // Ends the process with all its device memory, and starts another in its place, which does not outlive the
  // verdict. Between the two nothing of it is on the device.
  async::Task<> end_process();
  async::Task<Outcome<>> renew();
  async::Task<> give_back();

  // Fresh inputs for a call of the candidate.
  struct Drawn {
    Fd arena;
    std::uint64_t seed = 0;
  };
  async::Task<Outcome<Drawn>> draw(std::uint32_t trial);
  async::Task<Outcome<wire::JudgedT>> judge(std::uint32_t trial, std::uint64_t seed,
                                            std::unique_ptr<wire::ValueT> outputs);
  // The outputs alone, of whichever call: not whether inputs were changed.
  async::Task<Outcome<wire::JudgedT>> judge_outputs(std::uint64_t seed,
                                                    std::unique_ptr<wire::ValueT> outputs);
  async::Task<Outcome<wire::TimedT>> time_reference(wire::TimeReferenceT request,
                                                    std::chrono::milliseconds at_most);

  // An oracle's work is not the candidate's time.
  std::chrono::milliseconds limit(std::chrono::milliseconds at_most) const;
  const wire::PreparedT& facts() const { return facts_; }
  const wire::CallSpecT& spec() const { return spec_; }
  int call_spec() const { return call_spec_.get(); }
  std::uint32_t halvings() const { return halvings_; }
  std::string key() const;  // task_key
  bool is_retired() const { return retired_; }
  engine::Oracle& process() const { return *oracle_; }

 private:
  wire::PrepareT request_for(std::uint64_t max_bytes, std::uint32_t halvings) const;
  void forget_large_reference(const std::string& key);

  Context& context_;
  const Job& job_;
  const Settings& settings_;
  async::Stop& stop_;
  engine::OraclePool::Taken oracle_;
  bool retired_ = false;
  wire::PreparedT facts_;
  Fd call_spec_;
  wire::CallSpecT spec_;
  std::uint32_t halvings_ = 0;
};

}  // namespace kw::verify
