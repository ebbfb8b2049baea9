#include "engine/runner.h"

namespace kw::engine {

async::Task<std::expected<wire::LoadedT, Refusal>> Runner::load(wire::LoadT request, std::string code,
                                                                int call_spec, int arena,
                                                                async::Deadline deadline) {
  auto source = memory_file("candidate", code);
  if (!source) co_return refused({Lost::Why::closed, source.error().what, {}});
  std::vector<int> fds{source->get(), call_spec, page_.fd(), arena};
  auto answer =
      co_await exchange<wire::LoadedT>(*worker_, wire::encode(std::move(request)), std::move(fds), deadline);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  co_return std::move(answer->message);
}

async::Task<std::expected<wire::ReturnedT, Refusal>> Runner::call(wire::CallT request, int arena,
                                                                  async::Deadline deadline) {
  auto answer =
      co_await exchange<wire::ReturnedT>(*worker_, wire::encode(std::move(request)), {arena}, deadline);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  co_return std::move(answer->message);
}

async::Task<std::expected<wire::TimedT, Refusal>> Runner::time(wire::TimeCandidateT request,
                                                               async::Deadline deadline) {
  auto answer = co_await exchange<wire::TimedT>(*worker_, wire::encode(std::move(request)), {}, deadline);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  co_return std::move(answer->message);
}

}  // namespace kw::engine
