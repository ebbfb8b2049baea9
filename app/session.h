// What a verb that judges needs around it: the loop, Ctrl-C, and the processes it will own.
#pragma once

#include <boost/asio/signal_set.hpp>
#include <cstddef>
#include <functional>
#include <string>

#include "async/loop.h"
#include "async/stop.h"
#include "base/result.h"

namespace kw::app {

inline constexpr int exit_failure = 1;
inline constexpr int exit_usage = 2;
inline constexpr int exit_interrupted = 130;

// "error: WHAT", and what to do about it, on standard error.
void complain(const Error& error);

struct Session {
  async::Loop loop;
  async::Stop stop{loop};
  // What the first signal does; by default it requests a stop.
  std::function<void(const std::string& cause)> on_signal;

  // Runs the coroutine to its end, and tick every second meanwhile. A second signal ends the program at once.
  // The result is the coroutine's, or exit_interrupted after a stop.
  int run(std::function<async::Task<int>()> work, std::function<void()> tick);

 private:
  void heed_signals();
  boost::asio::signal_set signals_{loop, SIGINT, SIGTERM, SIGHUP};
};

// Makes this process the reaper of what candidates leave behind, and the parent of their cgroups.
Result<> own_processes();

// Lets this process have that many descriptors, as far as the machine allows; so many connections need them.
void allow_descriptors(std::size_t count);

}  // namespace kw::app
