#include "engine/replayer.h"

namespace kw::engine {

async::Task<std::expected<wire::ReplayableT, Refusal>> Replayer::load(wire::LoadRecordingT request,
                                                                      Files files, async::Deadline deadline) {
  std::vector<int> fds{files.recording, files.arena};
  if (files.state >= 0) fds.push_back(files.state);
  auto answer = co_await exchange<wire::ReplayableT>(*worker_, wire::encode(std::move(request)),
                                                     std::move(fds), deadline);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  co_return std::move(answer->message);
}

async::Task<std::expected<wire::ReplayedT, Refusal>> Replayer::replay(wire::ReplayT request,
                                                                      async::Deadline deadline) {
  auto answer = co_await exchange<wire::ReplayedT>(*worker_, wire::encode(std::move(request)), {}, deadline);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  co_return std::move(answer->message);
}

}  // namespace kw::engine
