// Whether the service answers; how long its absence is borne, and what is said of it meanwhile.
#pragma once

#include <functional>
#include <optional>
#include <random>
#include <string>

#include "async/stop.h"
#include "http/backoff.h"
#include "remote/trouble.h"

namespace kw::remote {

class Link {
 public:
  struct Options {
    std::string name;
    std::chrono::milliseconds patience;
    std::function<void(const std::string&)> say{};
  };

  explicit Link(Options options) : options_(std::move(options)) {}

  // A sound answer, whatever it says.
  void answered();
  // Waits until another try is due; false where patience is over, with no wait then.
  async::Task<bool> bear(Trouble trouble, http::Backoff& backoff, async::Stop& stop);

 private:
  void say(const std::string& line) const {
    if (options_.say) options_.say(line);
  }

  Options options_;
  std::optional<async::SteadyClock::time_point> away_since_;
  bool has_complained_ = false;
  std::mt19937_64 random_{std::random_device{}()};
};

}  // namespace kw::remote
