// A warm process that forks workers: Python with PyTorch and Triton imported, where a fork takes
// milliseconds and a fresh interpreter seconds; or the native replayer. SpareWorkers forks workers before
// they are needed.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/async/semaphore.h"
#include "base/core/timeline.h"
#include "base/core/words.h"
#include "verify/workers/installation.h"
#include "verify/workers/policy.h"
#include "verify/workers/worker.h"

namespace kw::engine {

// Triton decides at import whether it interprets, so each mode has a separate server. A zygote has imported
// PyTorch alone, and forks the servers that need it.
BOOST_DEFINE_ENUM_CLASS(ServerMode, oracle, compile, interpret, cuda, broker, replayer, zygote)

class ForkServer {
 public:
  struct Options {
    Installation installation;
    Python python;
    ServerMode mode = ServerMode::oracle;
    // The server that forks this one and has imported PyTorch already; null: this one starts by itself.
    std::shared_ptr<ForkServer> zygote{};
    // Of a zygote: tensors lie above 4 GiB, as they do on a device.
    bool high_heap = false;
    bool unconfined = false;
    async::Stop* stop = nullptr;
    std::shared_ptr<Timeline> timeline = {};  // null: none is kept
  };

  static async::Task<Result<std::shared_ptr<ForkServer>>> start(async::Loop& loop, Options options,
                                                                async::Deadline deadline);
  // The same for a process that already runs; its first message is Ready.
  struct Running {
    process::Channel control;
    std::shared_ptr<process::OutputTail> output;
    pid_t pid = 0;  // 0: Ready names it, a child of the zygote
  };
  static async::Task<Result<std::shared_ptr<ForkServer>>> attach(async::Loop& loop, Options options,
                                                                 Running running, async::Deadline deadline);
  ~ForkServer();

  // A confined worker. An error is never the candidate's fault: none of its code has run yet.
  async::Task<Result<std::unique_ptr<Worker>>> spawn(SpawnRequest request, async::Deadline deadline);

  const wire::ReadyT& versions() const { return versions_; }
  // False after the process has ended.
  bool alive() const { return *alive_; }
  const Options& options() const { return options_; }

 private:
  ForkServer(async::Loop& loop, Options options, process::Channel control,
             std::shared_ptr<process::OutputTail> output);
  Result<> watch(pid_t pid);
  async::Task<Result<>> wait_until_ready(async::Deadline deadline);

  async::Loop& loop_;
  Options options_;
  process::Channel control_;
  std::shared_ptr<process::OutputTail> output_;
  std::optional<process::ExitWatch> watch_;  // set when its process is known
  wire::ReadyT versions_;
  std::uint64_t mapped_bytes_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// Runners and replayers that start before a candidate arrives: on a GPU the creation of a context takes
// longer than most candidates run. Each still serves one candidate and exits.
class SpareWorkers {
 public:
  struct Options {
    std::size_t count = 0;  // kept ready; 0: each is forked on request
    Role role = Role::runner;
    int device = -1;  // N of /dev/nvidiaN
    Limits limits;
    std::vector<std::string> environment = {};  // NAME=value, set in each
  };

  SpareWorkers(async::Loop& loop, const std::shared_ptr<ForkServer>& server, Options options)
      : loop_(loop), server_(server), options_(std::move(options)), places_(loop, options_.count) {}

  async::Task<Result<std::unique_ptr<Worker>>> take(async::Deadline deadline);
  // Forks a replayer that the tool starts.
  async::Task<Result<std::unique_ptr<Worker>>> take_under(const Tool& tool, async::Deadline deadline);
  async::Task<> end();

 private:
  SpawnRequest request() const;
  async::Task<Result<std::unique_ptr<Worker>>> fork(async::Deadline deadline);
  void refill();
  async::Task<> add_one(async::Semaphore::Place place);

  struct Spare {
    async::Semaphore::Place place;
    std::unique_ptr<Worker> worker;
  };

  async::Loop& loop_;
  const std::shared_ptr<ForkServer>& server_;
  Options options_;
  async::Semaphore places_;  // of spares that are ready or being forked
  std::deque<Spare> ready_;
  bool ended_ = false;
};

}  // namespace kw::engine
