// One request to a worker and the one kind of answer that fits it.
#pragma once

#include <expected>
#include <optional>
#include <utility>
#include <vector>

#include "engine/worker.h"

namespace kw::engine {

// Why there is no answer: the worker said so, or was lost.
struct Refusal {
  std::optional<wire::FailedT> failed;
  std::optional<Lost> lost;
};

template <typename Answer>
struct Answered {
  Answer message;
  std::vector<Fd> fds;
};

template <typename Answer>
using Exchanged = std::expected<Answered<Answer>, Refusal>;

inline std::unexpected<Refusal> refused(Lost lost) {
  return std::unexpected(Refusal{{}, std::move(lost)});
}

// `fds` must outlive the wait.
template <typename Answer>
async::Task<Exchanged<Answer>> exchange(Worker& worker, std::string packet, std::vector<int> fds,
                                        async::Deadline deadline) {
  auto reply = co_await worker.ask(std::move(packet), std::move(fds), deadline);
  if (!reply) co_return refused(std::move(reply.error()));
  if (auto* failed = reply->body.AsFailed()) co_return std::unexpected(Refusal{std::move(*failed), {}});
  if (reply->body.type != wire::BodyUnionTraits<Answer>::enum_value)
    co_return refused({Lost::Why::malformed, "an answer of another kind", co_await worker.end()});
  co_return Answered<Answer>{std::move(*static_cast<Answer*>(reply->body.value)), std::move(reply->fds)};
}

}  // namespace kw::engine
