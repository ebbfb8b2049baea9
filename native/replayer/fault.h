// The failure of a replay, as it is reported to the supervisor.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <tuple>

#include "driver.h"
#include "verify/messages/message.h"

namespace kw::replayer {

struct Fault {
  std::string error_class;  // a value of the verdict's error_class
  std::string error;
};

template <typename T = void>
using Outcome = std::expected<T, Fault>;

// Runs the steps in order until one fails.
template <typename... Steps>
Outcome<> in_turn(Steps&&... steps) {
  Outcome<> done;
  std::ignore = ((done = steps(), done.has_value()) && ...);
  return done;
}

// The call cannot be replayed.
std::unexpected<Fault> unsupported(std::string why);

// The fault is not a kernel's.
std::unexpected<Fault> infrastructure(std::string why);

// Converts a result of the driver; `what` names the action that gave it.
Outcome<> checked(const driver::Driver& driver, CUresult result, std::string_view what);

wire::FailedT failed(const Fault& fault);

// An untrusted name, cleaned and cut for a message.
std::string plain_name(std::string_view name);

}  // namespace kw::replayer
