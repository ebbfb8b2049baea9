// The replayer launches the recordings of one candidate, or of one reference, and measures. It never runs
// host code of theirs, and holds nothing but the arena that it was given.
#pragma once

#include <memory>

#include "engine/exchange.h"

namespace kw::engine {

class Replayer {
 public:
  explicit Replayer(std::unique_ptr<Worker> worker) : worker_(std::move(worker)) {}

  // What a recording needs: its own file, the arena that inputs come in and outputs go to, and the state's
  // memory
  // (-1: none).
  struct Files {
    int recording = -1;
    int arena = -1;
    int state = -1;
  };
  async::Task<std::expected<wire::ReplayableT, Refusal>> load(wire::LoadRecordingT request, Files files,
                                                              async::Deadline deadline);
  // On the inputs that the arena holds now.
  async::Task<std::expected<wire::ReplayedT, Refusal>> replay(wire::ReplayT request,
                                                              async::Deadline deadline);

  async::Task<Exit> end() { return worker_->end(); }
  std::uint32_t layers() const { return worker_->layers(); }

 private:
  std::unique_ptr<Worker> worker_;
};

}  // namespace kw::engine
