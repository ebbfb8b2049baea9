#include "service/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace kw::service {
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
  one(text, "ready", "gauge", "1 where a verdict would work.", now.ready ? 1 : 0);
  one(text, "uptime_seconds", "gauge", "Since the service started.", now.uptime_s);
  one(text, "queued", "gauge", "Evaluations that wait for their turn.", now.queued);
  one(text, "running", "gauge", "Verifications that run.", now.running);
  one(text, "width", "gauge", "Verifications that can run at once.", now.width);
  one(text, "watching", "gauge", "Requests that wait for a verdict.", now.watching);
  one(text, "submitted_total", "counter", "Evaluations accepted.", submitted);
  one(text, "shared_total", "counter", "Evaluations that got the verdict of equal work.", shared);
  one(text, "cancelled_total", "counter", "Evaluations cancelled, by clients or deadlines.", cancelled);
  one(text, "store_failures_total", "counter", "Transactions that failed.", store_failures);
  labelled(text, "verdicts_total", "status", "Verdicts, by status.", verdicts);
  labelled(text, "responses_total", "code", "HTTP responses, by status code.", responses);
  waited.append_to(text, "wait_seconds", "From submission to start.");
  ran.append_to(text, "run_seconds", "From start to verdict.");
  return text;
}

}  // namespace kw::service
