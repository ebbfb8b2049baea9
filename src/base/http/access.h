// Access to a server: authentication, secrets, and rate limits.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "base/async/loop.h"
#include "base/http/message.h"

namespace kw::http {

// The one key of a server: "Authorization: Bearer KEY", "X-API-Key: KEY", or the password of Basic.
class KeyCheck {
 public:
  // An empty key admits all requests.
  explicit KeyCheck(std::string_view key);

  // Constant time, to resist timing attacks.
  bool admits(const Headers& headers) const;
  // The same for a key from another place, such as a cookie.
  bool matches(std::string_view given) const;

 private:
  std::string digest_;  // empty: none is needed
};

// SHA-256 of the key that these headers give, as hex; of the empty text without one.
std::string given_key_digest(const Headers& headers);

// The time depends on the lengths alone.
bool equal_in_constant_time(std::string_view a, std::string_view b);

// A secret of 128 random bits as hex: a key, the name of a session.
std::string random_secret();

// A limit of requests per second from one address, with bursts of several seconds' requests.
class RateLimit {
 public:
  using Time = async::SteadyClock::time_point;

  // 0: no limit. A burst has the requests of 5 s, and at least 10, unless it is given.
  explicit RateLimit(double per_second) : per_second_(per_second) {}
  RateLimit(double per_second, double burst) : per_second_(per_second), burst_(burst) {}

  // Seconds to wait before the next request, or 0 if this one is admitted.
  int seconds_to_wait(std::string_view address, Time now);
  // Whether the next request would have to wait; counts nothing.
  bool is_spent(std::string_view address, Time now) const;
  std::size_t remembered() const { return buckets_.size(); }

 private:
  struct Bucket {
    double tokens = 0;
    Time at{};
  };
  double burst() const;
  void forget_the_idle(Time now);

  double per_second_;
  double burst_ = 0;  // 0: of several seconds
  std::unordered_map<std::string, Bucket> buckets_;
};

// The 64-bit network of an IPv6 address, which one user has; the complete IPv4 address.
std::string client_of(std::string_view address);

}  // namespace kw::http
