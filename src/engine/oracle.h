// The oracle owns reference, inputs and expected outputs, and judges.
#pragma once

#include <memory>
#include <string>

#include "engine/exchange.h"

namespace kw::engine {

struct PreparedTask {
  wire::PreparedT facts;
  Fd call_spec;  // for the runner
};

class Oracle {
 public:
  explicit Oracle(std::unique_ptr<Worker> worker) : worker_(std::move(worker)) {}

  async::Task<std::expected<PreparedTask, Refusal>> prepare(wire::PrepareT request,
                                                            std::string reference_code,
                                                            async::Deadline deadline);

  // An arena with this trial's inputs and weights, and room for outputs. On a device each slot is one arena.
  // Where the request says that it is mapped already, there is no descriptor.
  async::Task<std::expected<Fd, Refusal>> draw(wire::DrawT request, async::Deadline deadline);

  async::Task<std::expected<wire::JudgedT, Refusal>> judge(wire::JudgeT request, async::Deadline deadline);

  async::Task<std::expected<wire::TimedT, Refusal>> time_reference(wire::TimeReferenceT request,
                                                                   async::Deadline deadline);

  async::Task<> end();

  // What its user keeps with it from task to task.
  std::shared_ptr<void> kept;

  const std::string& task_key() const { return task_key_; }
  bool alive() const { return alive_; }
  Worker& worker() { return *worker_; }

 private:
  template <typename T>
  std::unexpected<Refusal> refusal(std::expected<T, Refusal>& answer);

  std::unique_ptr<Worker> worker_;
  std::string task_key_;
  bool alive_ = true;
};

}  // namespace kw::engine
