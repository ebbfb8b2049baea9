// Access: who may ask, and how often.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "async/loop.h"
#include "http/message.h"

namespace kw::service {

// The one key of the service: "Authorization: Bearer KEY", "X-API-Key: KEY", or the password of Basic.
class KeyCheck {
 public:
  // An empty key lets everybody in.
  explicit KeyCheck(std::string_view key);

  // Takes as long for a key that is nearly right as for any other.
  bool admits(const http::Headers& headers) const;

 private:
  std::string digest_;  // empty: none is needed
};

// So many requests a second from an address, with bursts of as many as come in several seconds.
class RateLimit {
 public:
  using Time = async::SteadyClock::time_point;

  // 0: as many as come.
  explicit RateLimit(double per_second) : per_second_(per_second) {}

  // Seconds to wait before the next request, or 0 where this one may pass.
  int seconds_to_wait(std::string_view address, Time now);
  std::size_t remembered() const { return buckets_.size(); }

 private:
  struct Bucket {
    double tokens = 0;
    Time at{};
  };
  double burst() const;
  void forget_the_idle(Time now);

  double per_second_;
  std::unordered_map<std::string, Bucket> buckets_;
};

// Of an IPv6 address its network of 64 bits, which one user has; of IPv4 all of it.
std::string client_of(std::string_view address);

}  // namespace kw::service
