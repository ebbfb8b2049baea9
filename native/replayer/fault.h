// What went wrong in a replay, as the supervisor hears it.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <tuple>

#include "driver.h"
#include "wire/message.h"

namespace kw::replayer {

struct Fault {
  std::string error_class;  // contracts: error_class
  std::string error;
};

template <typename T = void>
using Outcome = std::expected<T, Fault>;

// One after another until one fails.
template <typename... Steps>
Outcome<> in_turn(Steps&&... steps) {
  Outcome<> done;
  std::ignore = ((done = steps(), done.has_value()) && ...);
  return done;
}

// The call cannot be replayed.
std::unexpected<Fault> unsupported(std::string why);

// Nobody's kernel is to blame.
std::unexpected<Fault> infrastructure(std::string why);

// A result of the driver's, met while doing `what`; success is no fault.
Outcome<> checked(const driver::Driver& driver, CUresult result, std::string_view what);

wire::FailedT failed(const Fault& fault);

// A name that a stranger chose, fit for a message.
std::string plain_name(std::string_view name);

}  // namespace kw::replayer
