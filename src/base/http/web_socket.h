// A WebSocket as a handler uses it (RFC 6455): text messages in order, and a close with a code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/async/loop.h"

namespace kw::http {

// Codes of a close frame (RFC 6455, section 7.4.1, and its registry).
enum class SocketClose : std::uint16_t {
  normal = 1000,
  going_away = 1001,
  unsupported = 1003,
  policy = 1008,
  busy = 1013,
};

class WebSocket {
 public:
  virtual ~WebSocket() = default;
  // The client's next message; none: the WebSocket has ended, or is being closed. One read at a time.
  virtual async::Task<std::optional<std::string>> read() = 0;
  // Sends one message. False: it could not be sent. One write at a time.
  virtual async::Task<bool> write(std::string text) = 0;
  // Sends a close frame and waits for the client's, a few seconds at most. `why` has at most 123 bytes.
  virtual async::Task<> close(SocketClose code, std::string why) = 0;
  // Whether the client has closed the WebSocket or the connection; known while no read() waits, too.
  virtual bool gone() const = 0;
  virtual async::Task<> until_gone() = 0;
};

}  // namespace kw::http
