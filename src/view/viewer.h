// Viewer: answers the requests of `view`: the page, the index, details, events, search and review.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "base/async/loop.h"
#include "base/http/message.h"
#include "base/http/server.h"
#include "view/gate.h"
#include "view/library.h"
#include "view/page.h"

namespace kw::view {

struct ViewerOptions {
  MakePage page{};
  std::size_t most_streams = 64;    // event streams and searches at a time
  std::size_t most_under_way = 64;  // other requests at a time
  // A comment on a silent event stream: a client that has vanished shows itself, and a proxy keeps the
  // stream.
  std::chrono::milliseconds heartbeat = std::chrono::seconds(15);
  std::size_t most_body_bytes = std::size_t{64} << 10;
  bool may_label = true;              // false: the inputs have no place for labels
  std::optional<std::size_t> review;  // of --review: the page opens the queue of so many
};

class Viewer {
 public:
  // The library must outlive it.
  Viewer(async::Loop& loop, Library& library, GateOptions gate, ViewerOptions options);
  ~Viewer();

  async::Task<> handle(const http::Request& request, http::Responder& responder);
  // For http::ServerOptions: refuses by the header, before a body is read.
  std::optional<http::Response> turn_away(const http::Request& head);

  // "/?ticket=...#review", for the URL that is printed.
  std::string first_target() const;
  void stop();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// The first value of that name in the query of a target, decoded as a form encodes it; empty if it is
// missing.
std::optional<std::string> form_value(std::string_view form, std::string_view name);

}  // namespace kw::view
