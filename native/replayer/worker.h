// Answers the supervisor's requests, one after another.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "player.h"

namespace kw::replayer {

class Worker {
 public:
  // Has a context and addresses when it returns, so that a process that waits has paid for them.
  static Outcome<std::unique_ptr<Worker>> start(const driver::Driver& driver, int ordinal);
  ~Worker();

  // The reply's packet.
  std::string answer(const wire::BodyUnion& request, const std::vector<Fd>& fds);

  // A kernel broke the context: nothing works in this process any more.
  bool spent() const { return spent_; }

 private:
  explicit Worker(std::unique_ptr<Device> device, Clock clock)
      : device_(std::move(device)), clock_(std::move(clock)) {}
  Outcome<wire::ReplayableT> load(const wire::LoadRecordingT& request, const std::vector<Fd>& fds);
  Outcome<wire::ReplayedT> replay(const wire::ReplayT& request);
  void check_context();

  std::unique_ptr<Device> device_;
  Clock clock_;
  Flush flush_;
  std::optional<Arena> arena_;
  std::map<std::uint32_t, std::unique_ptr<Slot>> slots_;
  bool spent_ = false;
};

}  // namespace kw::replayer
