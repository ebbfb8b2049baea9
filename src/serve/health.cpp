#include "serve/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

namespace kw::service {

using namespace std::chrono_literals;

namespace {

constexpr int most_faults_in_a_row = 3;
constexpr auto first_pause = 500ms;
constexpr auto longest_pause = 30'000ms;

}  // namespace

Condition Health::condition() const {
  if (draining_) return Condition::draining;
  if (!was_ready_ && !verifier_works_ && faults_in_a_row_ == 0) return Condition::starting;
  return verifier_works_ && store_trouble_.empty() ? Condition::ready : Condition::failing;
}

std::string Health::why() const {
  if (draining_) return "the service is shutting down";
  return verifier_works_ ? store_trouble_ : trouble_;
}

void Health::judge_with(verify::Verifier& verifier, std::optional<Job> probe) {
  verifier_ = &verifier;
  probe_ = std::move(probe);
  spawn_(probe_until_right());
}

void Health::judged(const Verdict& verdict) {
  if (verdict.fault != Fault::infrastructure) {
    faults_in_a_row_ = 0;
    if (verifier_works_) environment_ = verdict.environment;
    return;
  }
  ++faults_in_a_row_;
  if (faults_in_a_row_ < most_faults_in_a_row || !verifier_works_) return;
  verifier_works_ = false;
  trouble_ = fmt::format("{} verdicts in a row have the fault infrastructure, the last one: {}",
                         faults_in_a_row_, verdict.error.value_or("no reason was given"));
  spawn_(probe_until_right());
}

void Health::wrote(const std::optional<Error>& failed) {
  if (failed)
    store_trouble_ = failed->what;
  else if (!store_trouble_.empty())
    store_trouble_.clear();
}

// The fault that the probe finds; empty if there is none.
async::Task<std::string> Health::probe() {
  if (!probe_) co_return std::string();
  try {
    auto verdict = co_await verifier_->verify(*probe_, stop_);
    if (!verdict) co_return std::string("the probe was stopped");
    environment_ = verdict->environment;
    if (verdict->status == Status::correct) co_return std::string();
    co_return fmt::format("the verdict on the correct probe is {}: {}", to_string(verdict->status),
                          verdict->error.value_or("no reason was given"));
  } catch (const std::exception& error) {
    co_return fmt::format("the verifier failed: {}", error.what());
  }
}

async::Task<> Health::probe_until_right() {
  for (std::chrono::milliseconds pause = first_pause; !stop_.requested() && !draining_;
       pause = std::min<std::chrono::milliseconds>(2 * pause, longest_pause)) {
    std::string wrong = co_await probe();
    if (wrong.empty()) {
      verifier_works_ = true;
      was_ready_ = true;
      faults_in_a_row_ = 0;
      on_ready_();
      co_return;
    }
    trouble_ = std::move(wrong);
    faults_in_a_row_ = std::max(1, faults_in_a_row_);
    co_await async::sleep_until(async::Deadline::in(pause));
  }
}

}  // namespace kw::service
