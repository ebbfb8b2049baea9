// Why a request came to nothing, and whether to ask again.
#pragma once

#include <chrono>
#include <expected>
#include <optional>
#include <string>

#include "base/result.h"

namespace kw::remote {

struct Trouble {
  enum class Kind {
    away,       // not reached, cut off, or something else answers in its place: it may come back
    not_ready,  // 503: it says that it starts, ends or is broken
    full,       // 429: no room, or too many requests
    refused,    // what was asked is wrong
    too_large,  // the answer is
    locked,     // it wants another key
    stopped     // by ourselves
  };
  Kind kind = Kind::away;
  int status = 0;  // 0: there was no answer
  std::string what;
  std::string remedy{};
  std::string field{};  // the one to blame of a refusal: "evaluations[3].kernel_code"
  std::optional<std::chrono::milliseconds> retry_after{};

  Error error() const { return {what, remedy}; }
};

template <typename T = void>
using Answer = std::expected<T, Trouble>;

}  // namespace kw::remote
