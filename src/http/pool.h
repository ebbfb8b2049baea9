// Connections kept open for the next request to the same place.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>

#include "http/connection.h"

namespace kw::http {

class Pool {
 public:
  explicit Pool(std::size_t most) : most_(most) {}

  // The one used last, still open as far as can be seen; null where there is none. `place` names scheme,
  // host, port and proxy.
  std::unique_ptr<Connection> take(const std::string& place);

  // The oldest go where there are too many.
  void keep(std::string place, std::unique_ptr<Connection> connection);

 private:
  struct Idle {
    std::string place;
    std::unique_ptr<Connection> connection;
    async::SteadyClock::time_point since;
  };

  std::size_t most_;
  std::list<Idle> idle_;  // the newest first
};

}  // namespace kw::http
