// Log: lines of JSON to a descriptor. It never blocks the service: it drops lines that are not read, and
// later logs their number. Metrics: the service's figures in Prometheus' text format.
#pragma once

#include <array>
#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace kw::service {

// Log: lines of JSON to a descriptor. It never blocks the service: it drops lines that are not read, and
// later logs their number.
class Log {
 public:
  // The caller keeps ownership of the descriptor; -1: no log.
  explicit Log(int descriptor) : descriptor_(descriptor) {}

  // "at" and "event" come first.
  void line(std::string_view event, const boost::json::object& fields);
  bool is_on() const { return descriptor_ >= 0; }

 private:
  void put(std::string_view event, const boost::json::object& fields);
  void flush();

  int descriptor_;
  std::string pending_;
  std::size_t lost_ = 0;
};

// A histogram of seconds.
class Seconds {
 public:
  void add(double seconds);
  void append_to(std::string& text, std::string_view name, std::string_view help) const;
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

 private:
  static constexpr std::array bounds{0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0, 600.0};
  std::array<std::uint64_t, bounds.size() + 1> buckets_{};
  std::uint64_t count_ = 0;
  double sum_ = 0;
};

struct Metrics {
  std::uint64_t submitted = 0;
  std::uint64_t shared = 0;  // done with the verdict of equal work
  std::uint64_t cancelled = 0;
  std::uint64_t store_failures = 0;
  std::uint64_t conversations = 0;  // opened
  std::uint64_t conversation_turns = 0;
  std::map<std::string, std::uint64_t, std::less<>> verdicts{};  // by status
  std::map<int, std::uint64_t> responses{};                      // by HTTP status
  Seconds waited{};                                              // from submission to start
  Seconds ran{};                                                 // from start to verdict

  // Current values (gauges).
  struct Gauges {
    std::size_t queued = 0;
    std::size_t running = 0;
    std::size_t width = 0;
    std::size_t watching = 0;  // long polls
    bool ready = false;
    double uptime_s = 0;
  };
  std::string text(const Gauges& gauges) const;
};

}  // namespace kw::service
