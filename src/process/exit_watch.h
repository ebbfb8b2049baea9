// Waits for the end of a process by its pidfd, which names that process and no later one.
#pragma once

#include <sys/types.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>

#include "async/loop.h"
#include "base/fd.h"

namespace kw::process {

class ExitWatch {
 public:
  ExitWatch(async::Loop& loop, Fd pidfd);

  static Result<ExitWatch> of(async::Loop& loop, pid_t pid);

  void kill(int signal) const;

  // Ends once the process has ended, and leaves it to be reaped.
  async::Task<boost::system::error_code> ended();
  // The same, and reaps it where it is our child.
  async::Task<int> wait();

 private:
  boost::asio::posix::stream_descriptor pidfd_;
};

// The caller adopts orphans of its descendants, so that nothing of theirs outlives it unseen.
Result<> become_subreaper();

// Reaps whatever children have ended; a Child keeps its status.
void reap_orphans();
// Waits until this process has no children, so that those which end take along what they were making.
void await_children(std::chrono::milliseconds patience);

}  // namespace kw::process
