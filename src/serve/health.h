// Health: whether the verifier works. It judges a tiny job, the probe, at the start and after several faults
// of the infrastructure in a row.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/async/wait.h"
#include "base/core/words.h"
#include "serve/runtime.h"
#include "verify/api/verifier.h"

namespace kw::service {

BOOST_DEFINE_ENUM_CLASS(Condition, starting, ready, failing, draining)

class Health {
 public:
  // Calls `on_ready` whenever the verifier works again. All arguments must outlive it.
  Health(const Spawner& spawn, async::Stop& stop, std::function<void()> on_ready)
      : spawn_(spawn), stop_(stop), on_ready_(std::move(on_ready)) {}

  // Without a probe the verifier counts as working.
  void judge_with(verify::Verifier& verifier, std::optional<Job> probe);
  // Reports the verdict of an evaluation.
  void judged(const Verdict& verdict);
  // Reports a write to the store, or its failure.
  void wrote(const std::optional<Error>& failed);
  void drain() { draining_ = true; }

  // The verifier's state alone: evaluations continue while the store cannot be written.
  bool may_judge() const { return verifier_works_; }
  Condition condition() const;
  std::string why() const;  // the reason for not being ready
  // The environment of the last verdict; empty before it.
  const std::optional<Environment>& environment() const { return environment_; }

 private:
  async::Task<> probe_until_right();
  async::Task<std::string> probe();

  const Spawner& spawn_;
  async::Stop& stop_;
  std::function<void()> on_ready_;
  verify::Verifier* verifier_ = nullptr;
  std::optional<Job> probe_;
  bool verifier_works_ = false;
  bool was_ready_ = false;
  bool draining_ = false;
  int faults_in_a_row_ = 0;
  std::string trouble_ = "no verdict has been given yet";
  std::string store_trouble_;
  std::optional<Environment> environment_;
};

}  // namespace kw::service
