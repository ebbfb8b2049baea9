#include "async/stop.h"

namespace kw::async {

void Stop::request(std::string cause) {
  if (requested()) return;
  cause_ = std::move(cause);
  requested_.set();
}

}  // namespace kw::async
