#include "service/log.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <cerrno>

#include "base/utc_now.h"

namespace kw::service {
namespace {

namespace json = boost::json;

constexpr std::size_t most_pending = std::size_t{1} << 20;
// A pipe that can be written at all takes so much without waiting.
constexpr std::size_t piece_bytes = 4096;

bool can_be_written(int descriptor) {
  pollfd poll{descriptor, POLLOUT, 0};
  return ::poll(&poll, 1, 0) == 1 && (poll.revents & POLLOUT) != 0;
}

}  // namespace

void Log::line(std::string_view event, const json::object& fields) {
  if (!is_on()) return;
  if (pending_.size() > most_pending) flush();
  if (pending_.size() > most_pending) {
    ++lost_;
    return;
  }
  if (lost_ > 0) put("log_lines_lost", {{"count", std::exchange(lost_, 0)}});
  put(event, fields);
  flush();
}

void Log::put(std::string_view event, const json::object& fields) {
  json::object line{{"at", utc_now()}, {"event", event}};
  for (const auto& [key, value] : fields) line[key] = value;
  pending_ += json::serialize(line);
  pending_ += '\n';
}

void Log::flush() {
  std::size_t written = 0;
  while (written < pending_.size() && can_be_written(descriptor_)) {
    std::size_t count = std::min(piece_bytes, pending_.size() - written);
    ssize_t done = ::write(descriptor_, pending_.data() + written, count);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) break;
    written += static_cast<std::size_t>(done);
  }
  pending_.erase(0, written);
}

}  // namespace kw::service
