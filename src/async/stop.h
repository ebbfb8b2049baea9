// Stop: Ctrl-C, a client's disconnect and a shut-down are one thing with a cause.
#pragma once

#include <string>
#include <vector>

#include "async/event.h"

namespace kw::async {

class Stop {
 public:
  explicit Stop(Loop& loop) : requested_(loop) {}
  // Of a part of the work: requested with `whole`, which must outlive it, or alone.
  Stop(Loop& loop, Stop& whole);
  ~Stop();
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;

  // The first cause stands.
  void request(std::string cause);
  bool requested() const { return requested_.is_set(); }
  const std::string& cause() const { return cause_; }

  // Ends when a stop is requested.
  Task<> wait() { return requested_.wait(); }

 private:
  std::string cause_;
  Stop* whole_ = nullptr;
  std::vector<Stop*> parts_;
  Event requested_;
};

}  // namespace kw::async
