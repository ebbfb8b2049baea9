// The processes that work on one candidate: the runner with its progress page, the replayer, and the broker,
// which compiles the candidate's kernels again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/core/files.h"
#include "verify/workers/fork_server.h"
#include "verify/workers/worker.h"

namespace kw::engine {

// A page shared with a runner, which writes its progress there. The supervisor reads it after a hang or
// crash.
class ProgressPage {
 public:
  static Result<ProgressPage> create();
  ProgressPage(ProgressPage&& other) noexcept
      : fd_(std::move(other.fd_)), words_(std::exchange(other.words_, nullptr)) {}
  ProgressPage& operator=(ProgressPage&&) = delete;
  ~ProgressPage();

  int fd() const { return fd_.get(); }
  bool in_launch() const { return word(1) != 0; }

 private:
  ProgressPage(Fd fd, std::uint64_t* words) : fd_(std::move(fd)), words_(words) {}
  std::uint64_t word(std::size_t index) const;  // layout: python/kernelwright/_engine/launches.py

  Fd fd_;
  std::uint64_t* words_;
};

// The recorder's output for one call in a runner. The files are unchecked.
struct Recorded {
  wire::RecordedT facts;
  Fd recording;
  Fd kernels;  // the code that Triton lowered, for the broker
  Fd state;    // exported device memory; none if nothing was allocated
};

class Runner {
 public:
  Runner(std::unique_ptr<Worker> worker, ProgressPage page)
      : worker_(std::move(worker)), page_(std::move(page)) {}

  // The part of a load that runs none of `code`.
  async::Task<std::expected<wire::OpenedT, WorkerFailure>> open(wire::OpenT request, std::string code,
                                                                int call_spec, int arena,
                                                                async::Deadline deadline);
  // After open(): imports the code, and constructs what will be called.
  async::Task<std::expected<wire::LoadedT, WorkerFailure>> load(wire::LoadT request,
                                                                async::Deadline deadline);
  async::Task<std::expected<wire::ReturnedT, WorkerFailure>> call(wire::CallT request, int arena,
                                                                  async::Deadline deadline);
  // One recorded call; its inputs are at request.input_address.
  async::Task<std::expected<Recorded, WorkerFailure>> record(wire::RecordT request, int arena,
                                                             async::Deadline deadline);
  async::Task<std::expected<wire::TimedT, WorkerFailure>> time(wire::TimeCandidateT request,
                                                               async::Deadline deadline);
  async::Task<Exit> end() { return worker_->end(); }

  // The runner's last progress report. A candidate can forge it, but only to its own disadvantage.
  bool in_launch() const { return page_.in_launch(); }
  std::string printed() const { return worker_->printed(); }
  std::uint32_t layers() const { return worker_->layers(); }

 private:
  std::unique_ptr<Worker> worker_;
  ProgressPage page_;
  Fd source_;
};

// The replayer launches and times the recordings of one candidate or one reference. It never runs their host
// code, and can access only the arena that it was given.
class Replayer {
 public:
  explicit Replayer(std::unique_ptr<Worker> worker) : worker_(std::move(worker)) {}

  // The inputs of a replay: the recording's file, the arena for inputs and outputs, and the state's memory
  // (-1: none).
  struct Files {
    int recording = -1;
    int arena = -1;
    int state = -1;
  };
  async::Task<std::expected<wire::ReplayableT, WorkerFailure>> load(wire::LoadRecordingT request, Files files,
                                                                    async::Deadline deadline);
  // Uses the inputs that are now in the arena.
  async::Task<std::expected<wire::ReplayedT, WorkerFailure>> replay(wire::ReplayT request,
                                                                    async::Deadline deadline);

  async::Task<Exit> end() { return worker_->end(); }
  std::uint32_t layers() const { return worker_->layers(); }

 private:
  std::unique_ptr<Worker> worker_;
};

// SHA-256 of the cubins, in hexadecimal. `kernels` is the file from the recording; a faulty file attests
// nothing.
async::Task<std::set<std::string>> attested(std::shared_ptr<ForkServer> server, Limits limits, int kernels,
                                            std::uint32_t capability, async::Deadline deadline);

}  // namespace kw::engine
