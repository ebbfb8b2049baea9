#include "verify/judge/reference_clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "verify/judge/devices.h"
#include "verify/judge/statistics.h"

namespace kw::verify {

using namespace std::chrono_literals;

namespace {

constexpr double row_ms = 20.0;
constexpr std::uint32_t least_calls = 2;
// With fewer, the oracle's estimate of the host's part differs between requests, and with it the waits that
// it inserts.
constexpr std::uint32_t calls_in_each = 8;
constexpr std::uint32_t most_calls = 256;
// The sum of such samples takes up most of its request, so the time of the request is bound enough.
constexpr double longest_compared_ms = 100.0;
constexpr int most_comparisons = 3;  // a pause of the process delays one of them
constexpr auto batch_limit = 60s;

constexpr double noise_share = 0.25;
constexpr double noise_ms = 0.02;
constexpr double noise_of_requests_ms = 2.0;
constexpr double slow_memory_bytes_a_ms = 5e8;  // 500 GB/s
constexpr double most_cold_ms = 0.1;            // no L2 cache holds more than this memory moves in that time

}  // namespace

double tolerated_claim_ms(double outside_ms, std::uint32_t calls, std::uint64_t moved_bytes) {
  const double cold_ms = std::min(static_cast<double>(moved_bytes) / slow_memory_bytes_a_ms, most_cold_ms);
  return (1 + noise_share) * outside_ms + noise_of_requests_ms / calls + noise_ms + cold_ms;
}

async::Task<Outcome<>> ReferenceClock::sample(wire::TimeReferenceT how, std::chrono::milliseconds at_most) {
  const auto began = async::SteadyClock::now();
  auto timed = co_await oracle_.time_reference(std::move(how), at_most);
  const double elapsed_ms = async::ms_since(began);
  if (!timed) co_return std::unexpected(timed.error());
  const double sum_ms = std::accumulate(timed->samples_ms.begin(), timed->samples_ms.end(), 0.0);
  const bool possible =
      std::ranges::all_of(timed->samples_ms, [](double ms) { return ms >= 0; }) && sum_ms <= elapsed_ms;
  if (!possible)
    refutation_ = fmt::format(
        "the reference's times are false: by the events of its own process {} calls take {:.3f} ms, and the "
        "request to time them took {:.3f} ms",
        timed->samples_ms.size(), sum_ms, elapsed_ms);
  std::ranges::copy(timed->samples_ms, std::back_inserter(samples_ms_));
  co_return Outcome<>{};
}

void ReferenceClock::forget() {
  samples_ms_.clear();
  refutation_.clear();
}

void ReferenceClock::give(Times& times) const {
  times.reference_ms = samples_ms_;
  if (refutation_.empty()) return;
  times.reference_ms.clear();
  times.findings.push_back(refutation_);
  times.why_none = "a clock outside its process contradicts the reference's times";
}

// The time of a request with this many calls in a row, each of which ends before the next one begins. A few
// more calls and the request's own work are the same in every request.
async::Task<Outcome<double>> ReferenceClock::request_ms(std::uint32_t calls) {
  wire::TimeReferenceT request;
  request.seed = case_.context.seeds.next();
  request.warmup = calls;
  request.calls = 1;
  request.budget_ms = 1e-3;
  const auto began = async::SteadyClock::now();
  auto timed = co_await oracle_.time_reference(std::move(request), batch_limit);
  const double elapsed_ms = async::ms_since(began);
  if (!timed) co_return std::unexpected(timed.error());
  co_return elapsed_ms;
}

async::Task<Outcome<ReferenceClock::Compared>> ReferenceClock::compare_once(double claimed_ms) {
  Compared compared;
  compared.calls = static_cast<std::uint32_t>(
      std::clamp(row_ms / std::max(claimed_ms, 1e-3), double{least_calls}, double{most_calls}));
  auto few = co_await request_ms(calls_in_each);
  if (!few) co_return std::unexpected(few.error());
  auto all = co_await request_ms(calls_in_each + compared.calls);
  if (!all) co_return std::unexpected(all.error());
  compared.outside_ms = std::max(0.0, *all - *few) / compared.calls;
  const wire::CallSpecT& spec = oracle_.spec();
  compared.tolerated_ms =
      tolerated_claim_ms(compared.outside_ms, compared.calls, spec.input_bytes + spec.output_bytes);
  co_return compared;
}

// The comparison that allows most.
async::Task<Outcome<ReferenceClock::Compared>> ReferenceClock::compare(double claimed_ms) {
  auto best = co_await compare_once(claimed_ms);
  for (int again = 1; again < most_comparisons && best && best->tolerated_ms < claimed_ms; ++again) {
    auto next = co_await compare_once(claimed_ms);
    if (!next || next->tolerated_ms > best->tolerated_ms) best = std::move(next);
  }
  co_return best;
}

async::Task<Outcome<>> ReferenceClock::check() {
  const double claimed_ms = midmean(samples_ms_);
  if (!refutation_.empty() || samples_ms_.empty() || claimed_ms > longest_compared_ms) co_return Outcome<>{};
  auto compared = co_await compare(claimed_ms);
  if (!compared) co_return std::unexpected(compared.error());
  if (compared->tolerated_ms >= claimed_ms) co_return Outcome<>{};
  refutation_ = fmt::format(
      "clocks disagree: by the events of its own process a call of the reference takes {:.4f} ms, and {} "
      "calls "
      "in a row take {:.4f} ms each by the supervisor's clock, host work included",
      claimed_ms, compared->calls, compared->outside_ms);
  co_return Outcome<>{};
}

}  // namespace kw::verify
