// A forked, confined process of ours: a runner or an oracle. The supervisor owns it by pidfd.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/stop.h"
#include "process/channel.h"
#include "process/exit_watch.h"
#include "process/output_tail.h"
#include "wire/message.h"

namespace kw::engine {

struct Exit {
  bool known = false;   // false: init was gone before it could say
  int wait_status = 0;  // as waitpid gives it
  double cpu_ms = 0;
  std::uint64_t max_rss_bytes = 0;
  std::uint64_t oom_kills = 0;

  int signal() const;  // 0 where it exited
  int code() const;
};

struct Reply {
  wire::BodyUnion body;
  std::vector<Fd> fds;
};

// Why no reply came.
struct Lost {
  enum class Why { died, closed, malformed, deadline, stopped };
  Why why = Why::died;
  std::string detail;
  Exit exit;
};

class Worker {
 public:
  struct Parts {
    process::Channel channel;
    process::Channel status;
    std::shared_ptr<process::OutputTail> output;
    std::string cgroup;
    std::uint64_t memory_bytes = 0;  // watched where no cgroup limits it; 0: unlimited
    async::Stop* stop;
  };

  Worker(async::Loop& loop, Parts parts);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Waits until the sandbox stands. The error names the step that the host refused.
  async::Task<Result<>> confined(async::Deadline deadline);

  // One message there, one back.
  async::Task<std::expected<Reply, Lost>> ask(std::string packet, std::vector<int> fds,
                                              async::Deadline deadline);

  // What ends its waits from now on: the stop of the job that it serves, or of all.
  void heed(async::Stop* stop) { stop_ = stop; }

  // Kills it with all that it started, and waits until that is so.
  async::Task<Exit> end();

  // Kills it without waiting.
  void kill();

  bool alive() const;
  std::uint32_t layers() const { return layers_; }
  std::string printed() const { return output_->text(); }

 private:
  struct State;
  static async::Task<> watch(std::shared_ptr<State> state);
  static async::Task<> guard_memory(std::shared_ptr<State> state, pid_t init);
  async::Task<Lost> lost(Lost::Why why, std::string detail);

  std::shared_ptr<State> state_;
  process::Channel channel_;
  std::shared_ptr<process::OutputTail> output_;
  async::Stop* stop_;
  std::uint32_t layers_ = 0;
};

}  // namespace kw::engine
