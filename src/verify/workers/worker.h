// A forked, confined worker process, which the supervisor owns by pidfd, and one request to it with its
// answer.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/async/wait.h"
#include "base/core/timeline.h"
#include "base/process/pipes.h"
#include "base/process/watch.h"
#include "verify/messages/message.h"

namespace kw::engine {

// A forked, confined worker process: a runner or an oracle. The supervisor owns it by pidfd.
struct Exit {
  bool known = false;   // false: init ended before it reported
  int wait_status = 0;  // as waitpid returns it
  double cpu_ms = 0;
  std::uint64_t max_rss_bytes = 0;
  std::uint64_t oom_kills = 0;

  int signal() const;  // 0 if it exited
  int code() const;
};

struct Reply {
  wire::BodyUnion body;
  std::vector<Fd> fds;
};

// The reason why there was no reply.
struct Lost {
  // evicted: the supervisor ended it so that others find device memory; over_device_memory: it took more of
  // the device's memory than it may.
  enum class Why { died, closed, malformed, deadline, stopped, evicted, over_device_memory };
  Why why = Why::died;
  std::string detail;
  Exit exit;
  bool starved = false;  // at the deadline: other processes had kept it from the CPU
};

class Worker {
 public:
  struct Parts {
    process::Channel channel;
    process::Channel status;
    std::shared_ptr<process::OutputTail> output;
    std::string cgroup;
    std::uint64_t memory_bytes = 0;  // polled if no cgroup limits it; 0: unlimited
    async::Stop* stop;
    Timeline::Row row = {};  // of its requests and its end
  };

  Worker(async::Loop& loop, Parts parts);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Waits until the sandbox is set up. The error names the step that the host refused.
  async::Task<Result<>> confined(async::Deadline deadline);

  // Sends one message and receives the reply.
  async::Task<std::expected<Reply, Lost>> ask(std::string packet, std::vector<int> fds,
                                              async::Deadline deadline);

  // Sets the stop that ends its waits from now on: that of its job, or of all jobs.
  void heed(async::Stop* stop) { stop_ = stop; }

  // Kills it and all its descendants, and waits for their end.
  async::Task<Exit> end();

  const Timeline::Row& row() const;

  // Kills it without waiting.
  void kill();
  // The same for what it takes of the device's memory: who waits for its answer is told `why`.
  void kill_for_memory(Lost::Why why, std::string detail);

  bool alive() const;
  std::uint32_t layers() const { return layers_; }
  // The first process of its sandbox, in this program's PID namespace; 0 before it is confined.
  pid_t init() const;
  std::string printed() const { return output_->text(); }

 private:
  struct State;
  static async::Task<> watch(std::shared_ptr<State> state);
  static async::Task<> guard_memory(std::shared_ptr<State> state);
  static async::Task<> watch_long_requests(std::shared_ptr<State> state);
  async::Task<Lost> lost(Lost::Why why, std::string detail);

  std::shared_ptr<State> state_;
  process::Channel channel_;
  std::shared_ptr<process::OutputTail> output_;
  async::Stop* stop_;
  std::uint32_t layers_ = 0;
};

// The reason why there is no answer: the worker reported an error, or was lost.
struct WorkerFailure {
  std::optional<wire::FailedT> failed;
  std::optional<Lost> lost;
};

template <typename Answer>
struct Answered {
  Answer message;
  std::vector<Fd> fds;
};

template <typename Answer>
using Exchanged = std::expected<Answered<Answer>, WorkerFailure>;

inline std::unexpected<WorkerFailure> refused(Lost lost) {
  return std::unexpected(WorkerFailure{{}, std::move(lost)});
}

// `fds` must outlive the wait.
template <typename Answer>
async::Task<Exchanged<Answer>> exchange(Worker& worker, std::string packet, std::vector<int> fds,
                                        async::Deadline deadline) {
  auto reply = co_await worker.ask(std::move(packet), std::move(fds), deadline);
  if (!reply) co_return refused(std::move(reply.error()));
  if (auto* failed = reply->body.AsFailed()) co_return std::unexpected(WorkerFailure{std::move(*failed), {}});
  if (reply->body.type != wire::BodyUnionTraits<Answer>::enum_value)
    co_return refused({Lost::Why::malformed, "an answer of another kind", co_await worker.end()});
  co_return Answered<Answer>{std::move(*static_cast<Answer*>(reply->body.value)), std::move(reply->fds)};
}

}  // namespace kw::engine
