// Conversations that do not fit the model's context, in the words of many servers.
#pragma once

#include <cstdint>
#include <optional>

#include "llm/server_error.h"

namespace kw::llm {

// What the message says in numbers, all in tokens.
struct Overflow {
  std::optional<std::uint64_t> context;  // prompt and answer together
  std::optional<std::uint64_t> prompt;
  std::optional<std::uint64_t> answer;  // the most that may be asked for
};

// Nothing where the error is about something else.
std::optional<Overflow> overflow_in(const ServerError& error);

// How many tokens to ask for in a second try; nothing where too few are left to be of use. `asked`: what the
// first try asked for; nothing where it left that to the server, so that it is the prompt that does not fit.
std::optional<std::uint64_t> shrunk(const Overflow& overflow, std::optional<std::uint64_t> asked);

}  // namespace kw::llm
