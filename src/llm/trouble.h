// What went wrong with one request, and whether to ask again.
#pragma once

#include <optional>
#include <string>

#include "http/client.h"
#include "llm/answer_reader.h"
#include "llm/chat.h"

namespace kw::llm {

enum class Retry {
  never,
  few,   // twice: the server may answer malformed by accident, but most do not
  often  // up to ServerOptions::max_attempts
};

struct Trouble {
  ChatFault fault = ChatFault::malformed;
  Retry retry = Retry::never;
  bool overloaded = false;  // ask for less at once
  std::string what;
  std::string remedy;
};

// By status: 401 and 403, 408, 409, 425, 429 and 5xx have meanings of their own; others are our own fault.
Trouble trouble_of(const ServerError& error);

// `late`: the request's own time was over, not merely nothing heard for long.
Trouble trouble_of(const http::Failure& failure, bool late);

Trouble trouble_of(const Flawed& flawed);

// An answer that came whole and is none: refused, or empty.
std::optional<Trouble> trouble_in(const ChatAnswer& answer);

}  // namespace kw::llm
