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
  std::vector<int> fds;
  if (arena >= 0) fds.push_back(arena);
  auto answer = co_await exchange<wire::ReturnedT>(*worker_, wire::encode(std::move(request)), std::move(fds),
                                                   deadline);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  co_return std::move(answer->message);
}

async::Task<std::expected<Recorded, Refusal>> Runner::record(wire::RecordT request, int arena,
                                                             async::Deadline deadline) {
  auto answer =
      co_await exchange<wire::RecordedT>(*worker_, wire::encode(std::move(request)), {arena}, deadline);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  auto& fds = answer->fds;
  if (fds.size() < 2 || !answer->message.returned || !answer->message.outputs)
    co_return refused({Lost::Why::malformed, "a recording without its parts", co_await worker_->end()});
  Recorded recorded{std::move(answer->message), std::move(fds[0]), std::move(fds[1]), {}};
  if (fds.size() > 2) recorded.state = std::move(fds[2]);
  co_return recorded;
}

async::Task<std::expected<wire::TimedT, Refusal>> Runner::time(wire::TimeCandidateT request,
                                                               async::Deadline deadline) {
  auto answer = co_await exchange<wire::TimedT>(*worker_, wire::encode(std::move(request)), {}, deadline);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  co_return std::move(answer->message);
}

}  // namespace kw::engine
