// Failures of a request, whether to retry, and a limit of concurrent requests that is lower while the
// server is overloaded.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/async/semaphore.h"
#include "base/async/wait.h"
#include "base/http/client.h"
#include "loop/model_client/answer_reader.h"
#include "loop/model_client/chat.h"

namespace kw::llm {

// Failures of one request, and whether to retry.
enum class Retry {
  never,
  few,   // twice: a malformed answer may be an accident, but rarely is
  often  // up to ServerOptions::max_attempts
};

struct RequestFailure {
  ChatFault fault = ChatFault::malformed;
  Retry retry = Retry::never;
  bool overloaded = false;  // send fewer requests at once
  std::string what;
  std::string remedy;
};

// By status: 401 and 403, 408, 409, 425, 429 and 5xx have specific meanings; others are faults of the
// request.
RequestFailure trouble_of(const ServerError& error);

// `late`: the request's own time limit passed, not only the limit without data.
RequestFailure trouble_of(const http::Failure& failure, bool late);

RequestFailure trouble_of(const Flawed& flawed);

// The failure of a complete answer that is refused or empty.
std::optional<RequestFailure> trouble_in(const ChatAnswer& answer);

// The right to have a request in flight.
using Slot = async::Semaphore::Place;

// An overload halves the limit, once for all requests that were in flight together; after as many successes
// as the limit it grows by one.
class Gate {
 public:
  Gate(async::Loop& loop, std::size_t most, std::chrono::milliseconds between_cuts = std::chrono::seconds(1));
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // A place in the queue. A waiter that returns with an old place after a pause precedes later ones.
  std::uint64_t ticket() { return slots_.ticket(); }

  // An empty slot if a stop was requested.
  async::Task<Slot> enter(std::uint64_t ticket, async::Stop* stop);

  void overloaded();
  void succeeded();
  std::size_t allowed() const { return allowed_; }

 private:
  std::size_t most_;
  std::size_t allowed_;
  std::size_t successes_ = 0;  // since allowed_ last changed
  std::chrono::milliseconds between_cuts_;
  async::SteadyClock::time_point last_cut_ = async::SteadyClock::time_point::min();
  async::Semaphore slots_;
};

}  // namespace kw::llm
