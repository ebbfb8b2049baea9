// What is known of a service before it is asked anything.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "http/backoff.h"
#include "http/client.h"
#include "schema/settings.h"

namespace kw::remote {

// How long things may take; tests have less time.
struct Pace {
  std::chrono::milliseconds patience{300'000};  // with a service that does not answer, or has no room
  std::chrono::milliseconds request{120'000};   // for one answer, beyond what it may wait on purpose
  std::chrono::milliseconds poll{20'000};       // how long a service may keep a poll that has nothing to say
  std::chrono::milliseconds refresh{60'000};    // how old may be what is known of its width
  http::BackoffOptions backoff{std::chrono::milliseconds(250), std::chrono::milliseconds(10'000)};
};

struct Options {
  std::string url;            // http or https, with a path where the service lies below one
  http::Headers keys{};       // sent with every request, never shown
  std::string key_advice{};   // what to do where the service takes none of them
  JobOptions settings{};      // of every job that has none of its own
  std::size_t in_flight = 0;  // evaluations at once; 0: what the service says
  std::string run{};   // part of every evaluation's id: a run that goes on finds those of its beginning
  bool fresh = false;  // no verdict will do that the service has already
  // A service that was started anew under another protocol is followed, not refused: for who lives longer
  // than one run.
  bool follows = false;
  Pace pace{};
  http::ClientOptions http{};
  std::function<void(const std::string& line)> say{};  // what a person may want to know while it waits
};

}  // namespace kw::remote
