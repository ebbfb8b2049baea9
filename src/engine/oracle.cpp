#include "engine/oracle.h"

namespace kw::engine {

template <typename T>
std::unexpected<Refusal> Oracle::refusal(std::expected<T, Refusal>& answer) {
  // An oracle that was lost is not asked again; one that answered "failed" is as good as before.
  if (answer.error().lost) alive_ = false;
  return std::unexpected(std::move(answer.error()));
}

async::Task<std::expected<PreparedTask, Refusal>> Oracle::prepare(wire::PrepareT request,
                                                                  std::string reference_code,
                                                                  async::Deadline deadline) {
  auto source = memory_file("reference", reference_code);
  if (!source) co_return refused({Lost::Why::closed, source.error().what, {}});
  task_key_ = request.task_key;
  auto answer = co_await exchange<wire::PreparedT>(*worker_, wire::encode(std::move(request)),
                                                   {source->get()}, deadline);
  if (!answer) co_return refusal(answer);
  if (answer->fds.empty()) co_return refused({Lost::Why::malformed, "a prepared task without its call", {}});
  co_return PreparedTask{std::move(answer->message), std::move(answer->fds.front())};
}

async::Task<std::expected<Fd, Refusal>> Oracle::draw(wire::DrawT request, async::Deadline deadline) {
  const bool mapped = request.mapped;
  auto answer = co_await exchange<wire::DrawnT>(*worker_, wire::encode(std::move(request)), {}, deadline);
  if (!answer) co_return refusal(answer);
  if (mapped) co_return Fd();
  if (answer->fds.empty()) co_return refused({Lost::Why::malformed, "inputs without their arena", {}});
  co_return std::move(answer->fds.front());
}

async::Task<std::expected<wire::JudgedT, Refusal>> Oracle::judge(wire::JudgeT request,
                                                                 async::Deadline deadline) {
  auto answer = co_await exchange<wire::JudgedT>(*worker_, wire::encode(std::move(request)), {}, deadline);
  if (!answer) co_return refusal(answer);
  co_return std::move(answer->message);
}

async::Task<std::expected<wire::TimedT, Refusal>> Oracle::time_reference(wire::TimeReferenceT request,
                                                                         async::Deadline deadline) {
  auto answer = co_await exchange<wire::TimedT>(*worker_, wire::encode(std::move(request)), {}, deadline);
  if (!answer) co_return refusal(answer);
  co_return std::move(answer->message);
}

async::Task<> Oracle::end() {
  alive_ = false;
  kept.reset();
  co_await worker_->end();
}

}  // namespace kw::engine
