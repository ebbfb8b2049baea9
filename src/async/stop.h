// Stop: Ctrl-C, a client's disconnect and a shut-down are one thing with a cause.
#pragma once

#include <string>

#include "async/event.h"

namespace kw::async {

class Stop {
 public:
  explicit Stop(Loop& loop) : requested_(loop) {}

  // The first cause stands.
  void request(std::string cause);
  bool requested() const { return requested_.is_set(); }
  const std::string& cause() const { return cause_; }

  // Ends when a stop is requested.
  Task<> wait() { return requested_.wait(); }

 private:
  std::string cause_;
  Event requested_;
};

}  // namespace kw::async
