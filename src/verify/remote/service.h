// A service: the options for its use, its description of itself, failures of requests and whether to retry,
// and Link, which tracks whether it responds.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <cstddef>
#include <expected>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/async/wait.h"
#include "base/core/result.h"
#include "base/http/client.h"
#include "types/options.h"

namespace kw::remote {

// Time limits; tests use shorter ones.
struct Pace {
  std::chrono::milliseconds patience{300'000};  // with a service that does not answer or has no room
  std::chrono::milliseconds request{120'000};   // for one answer, beyond an intended wait
  std::chrono::milliseconds poll{20'000};       // how long a service may hold a poll without news
  std::chrono::milliseconds refresh{60'000};    // greatest age of the known width
  http::BackoffOptions backoff{std::chrono::milliseconds(250), std::chrono::milliseconds(10'000)};
};

struct Options {
  std::string url;            // http or https, with the service's path if it has one
  http::Headers keys{};       // sent with every request, never shown
  std::string key_advice{};   // the remedy if the service accepts none of them
  JobOptions settings{};      // for jobs without their own
  std::size_t in_flight = 0;  // evaluations at once; 0: the service's width
  std::string run{};          // part of every evaluation's id: a resumed run finds its earlier ones
  bool fresh = false;         // requires new verdicts: the service must not reuse earlier ones
  // Accepts a service that restarted with another protocol; for clients that outlive one run.
  bool follows = false;
  Pace pace{};
  http::ClientOptions http{};
  std::function<void(const std::string& line)> say{};  // messages for the user during a wait
};

// Failures of a request, and whether to retry.
struct ServiceFailure {
  enum class Kind {
    away,       // not reached, cut off, or another program answers: it may come back
    not_ready,  // 503: it starts, ends or is broken
    full,       // 429: no room, or too many requests
    refused,    // the request is wrong
    too_large,  // the answer is too large
    locked,     // the key is refused
    stopped     // by a stop of this program
  };
  Kind kind = Kind::away;
  int status = 0;  // 0: there was no answer
  std::string what;
  std::string remedy{};
  std::string field{};  // the refused field: "evaluations[3].kernel_code"
  std::optional<std::chrono::milliseconds> retry_after{};

  Error error() const { return {what, remedy}; }
};

template <typename T = void>
using Answer = std::expected<T, ServiceFailure>;

// The service's description of itself: GET /v1/service and GET /health.
struct ServiceInfo {
  std::string version;
  std::string protocol;
  std::string device;  // "cpu", "cuda"
  std::vector<std::string> gpus;
  std::size_t width = 1;
  std::size_t max_body_bytes = std::size_t{1} << 20;
  std::size_t max_batch = 1;
};

// Empty if the JSON is not from Kernelwright's service.
std::optional<ServiceInfo> read_facts(const boost::json::object& object);

struct Health {
  std::string status;  // "ready", "starting", "draining", "failing"
  std::string why;
};

// Tracks whether the service responds: how long an outage may last, and the messages about it.
class Link {
 public:
  struct Options {
    std::string name;
    std::chrono::milliseconds patience;
    std::function<void(const std::string&)> say{};
  };

  explicit Link(Options options) : options_(std::move(options)) {}

  // Reports a valid response of any content.
  void answered();
  // Waits until the next retry is due; returns false at once after the patience has passed.
  async::Task<bool> bear(ServiceFailure trouble, http::Backoff& backoff, async::Stop& stop);

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
