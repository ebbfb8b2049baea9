// A warm process that forks workers: Python with PyTorch and Triton imported, where a fork takes milliseconds
// and a fresh interpreter seconds; or the replayer, which is native.
#pragma once

#include <memory>
#include <string>

#include "engine/policy.h"
#include "engine/python.h"
#include "engine/worker.h"

namespace kw::engine {

// Triton decides at import whether it interprets, so each way of running has a server of its own.
enum class ServerMode { oracle, compile, interpret, cuda, broker, replayer };

const char* to_string(ServerMode mode);

class ForkServer {
 public:
  struct Options {
    Installation installation;
    Python python;
    ServerMode mode = ServerMode::oracle;
    bool unconfined = false;
    async::Stop* stop = nullptr;
  };

  static async::Task<Result<std::shared_ptr<ForkServer>>> start(async::Loop& loop, Options options,
                                                                async::Deadline deadline);
  // The same over a process that runs already, whoever started it: it says Ready first.
  struct Running {
    process::Channel control;
    std::shared_ptr<process::OutputTail> output;
    pid_t pid = 0;
  };
  static async::Task<Result<std::shared_ptr<ForkServer>>> attach(async::Loop& loop, Options options,
                                                                 Running running, async::Deadline deadline);
  ~ForkServer();

  // A confined worker. Errors are ours, never a candidate's: nothing of it has run yet.
  async::Task<Result<std::unique_ptr<Worker>>> spawn(SpawnRequest request, async::Deadline deadline);

  const wire::ReadyT& versions() const { return versions_; }
  // False once it has ended, whoever ended it.
  bool alive() const { return *alive_; }
  const Options& options() const { return options_; }

 private:
  ForkServer(async::Loop& loop, Options options, process::Channel control,
             std::shared_ptr<process::OutputTail> output, process::ExitWatch watch);
  async::Task<Result<>> wait_until_ready(async::Deadline deadline);

  async::Loop& loop_;
  Options options_;
  process::Channel control_;
  std::shared_ptr<process::OutputTail> output_;
  process::ExitWatch watch_;
  wire::ReadyT versions_;
  std::uint64_t mapped_bytes_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace kw::engine
