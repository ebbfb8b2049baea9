// Watches processes: their end, by a pidfd, which never refers to a later process of the same number;
// orphans; and the memory use of a process tree.
#pragma once

#include <sys/types.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <cstdint>

#include "base/async/loop.h"
#include "base/core/files.h"

namespace kw::process {

// Waits for the end of a process by its pidfd, which never refers to a later process of the same number.
class ExitWatch {
 public:
  ExitWatch(async::Loop& loop, Fd pidfd);

  static Result<ExitWatch> of(async::Loop& loop, pid_t pid);

  void kill(int signal) const;

  // Ends when the process has ended; does not reap it.
  async::Task<boost::system::error_code> ended();
  // The same, and reaps it if it is a child of this process.
  async::Task<int> wait();

 private:
  boost::asio::posix::stream_descriptor pidfd_;
};

// Makes the caller adopt orphans of its descendants, so that none of them survives unnoticed.
Result<> become_subreaper();

// Reaps all ended children; a Child keeps its status.
void reap_orphans();
// Waits until this process has no children, so that ending children can clean up first.
void await_children(std::chrono::milliseconds patience);

// Resident anonymous and shared bytes of the process tree; 0 if the process has ended. Shared pages count
// once per process.
std::uint64_t tree_memory_bytes(pid_t root);

}  // namespace kw::process
