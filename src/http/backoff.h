// How long to wait before the next try, where a server is busy or gone.
#pragma once

#include <chrono>
#include <optional>
#include <random>

#include "http/message.h"

namespace kw::http {

struct BackoffOptions {
  std::chrono::milliseconds first{500};
  std::chrono::milliseconds most{30'000};
};

// Exponential, with full jitter: anything from nothing to first * 2^n, so that those who failed together do
// not come back together.
class Backoff {
 public:
  explicit Backoff(BackoffOptions options) : options_(options) {}

  // `wished`: by the server; kept, up to four times `most`, with some jitter on top.
  std::chrono::milliseconds next(std::optional<std::chrono::milliseconds> wished, std::mt19937_64& random);

 private:
  BackoffOptions options_;
  unsigned tries_ = 0;
};

// Of Retry-After, in seconds or as a date, or OpenAI's retry-after-ms; nothing where there is none, or
// nonsense.
std::optional<std::chrono::milliseconds> retry_after(const http::Headers& headers,
                                                     std::chrono::system_clock::time_point now);

}  // namespace kw::http
