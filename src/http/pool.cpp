#include "http/pool.h"

#include <utility>

namespace kw::http {

using namespace std::chrono_literals;

namespace {

// Routers on the way forget a silent connection without a word; after this it is not trusted.
constexpr auto kOldest = 60s;

}  // namespace

std::unique_ptr<Connection> Pool::take(const std::string& place) {
  auto oldest = async::SteadyClock::now() - kOldest;
  while (!idle_.empty() && idle_.back().since < oldest) idle_.pop_back();
  for (auto entry = idle_.begin(); entry != idle_.end();) {
    if (entry->place != place) {
      ++entry;
      continue;
    }
    auto connection = std::move(entry->connection);
    entry = idle_.erase(entry);
    // Words that nobody asked for make the next answer's beginning uncertain.
    if (connection->peer() == Connection::Peer::silent) return connection;
  }
  return nullptr;
}

void Pool::keep(std::string place, std::unique_ptr<Connection> connection) {
  idle_.push_front({std::move(place), std::move(connection), async::SteadyClock::now()});
  while (idle_.size() > most_) idle_.pop_back();
}

}  // namespace kw::http
