#include "serve/telemetry.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <iterator>

#include "base/core/text.h"

namespace kw::service {
namespace {

namespace json = boost::json;

constexpr std::size_t most_pending = std::size_t{1} << 20;
// The number of bytes that a writable pipe accepts without blocking (PIPE_BUF).
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

namespace {

void head(std::string& text, std::string_view name, std::string_view type, std::string_view help) {
  fmt::format_to(std::back_inserter(text), "# HELP kernelwright_{0} {2}\n# TYPE kernelwright_{0} {1}\n", name,
                 type, help);
}

template <typename T>
void one(std::string& text, std::string_view name, std::string_view type, std::string_view help, T value) {
  head(text, name, type, help);
  fmt::format_to(std::back_inserter(text), "kernelwright_{} {}\n", name, value);
}

void labelled(std::string& text, std::string_view name, std::string_view label, std::string_view help,
              const auto& counts) {
  head(text, name, "counter", help);
  for (const auto& [value, count] : counts)
    fmt::format_to(std::back_inserter(text), "kernelwright_{}{{{}=\"{}\"}} {}\n", name, label, value, count);
}

}  // namespace

void Seconds::add(double seconds) {
  auto place = std::ranges::lower_bound(bounds, seconds);
  ++buckets_[static_cast<std::size_t>(place - bounds.begin())];
  ++count_;
  sum_ += seconds;
}

void Seconds::append_to(std::string& text, std::string_view name, std::string_view help) const {
  auto out = std::back_inserter(text);
  head(text, name, "histogram", help);
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    below += buckets_[i];
    fmt::format_to(out, "kernelwright_{}_bucket{{le=\"{}\"}} {}\n", name, bounds[i], below);
  }
  fmt::format_to(
      out,
      "kernelwright_{0}_bucket{{le=\"+Inf\"}} {1}\nkernelwright_{0}_sum {2}\nkernelwright_{0}_count {1}\n",
      name, count_, sum_);
}

std::string Metrics::text(const Gauges& now) const {
  std::string text;
  one(text, "ready", "gauge", "1 if the service is ready.", now.ready ? 1 : 0);
  one(text, "uptime_seconds", "gauge", "Seconds since the start of the service.", now.uptime_s);
  one(text, "queued", "gauge", "Waiting evaluations.", now.queued);
  one(text, "running", "gauge", "Running verifications.", now.running);
  one(text, "width", "gauge", "Maximum number of concurrent verifications.", now.width);
  one(text, "watching", "gauge", "Requests waiting for a verdict.", now.watching);
  one(text, "submitted_total", "counter", "Evaluations accepted.", submitted);
  one(text, "shared_total", "counter", "Evaluations that share the verdict of equal work.", shared);
  one(text, "cancelled_total", "counter", "Evaluations cancelled, by clients or deadlines.", cancelled);
  one(text, "store_failures_total", "counter", "Failed transactions of the store.", store_failures);
  one(text, "conversations_total", "counter", "Conversations opened.", conversations);
  one(text, "conversation_turns_total", "counter", "Turns of conversations taken.", conversation_turns);
  labelled(text, "verdicts_total", "status", "Verdicts, by status.", verdicts);
  labelled(text, "responses_total", "code", "HTTP responses, by status code.", responses);
  waited.append_to(text, "wait_seconds", "Seconds from submission to start.");
  ran.append_to(text, "run_seconds", "Seconds from start to verdict.");
  return text;
}

}  // namespace kw::service
