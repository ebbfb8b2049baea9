// Health: whether a verdict would work. It asks for one: a tiny job, at the start, and again after the
// infrastructure has failed several times in a row.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "async/stop.h"
#include "service/spawner.h"
#include "verify/verifier.h"

namespace kw::service {

enum class Condition { starting, ready, failing, draining };

std::string_view to_string(Condition condition);

class Health {
 public:
  // `on_ready` is called whenever verdicts work again. All must outlive it.
  Health(const Spawner& spawn, async::Stop& stop, std::function<void()> on_ready)
      : spawn_(spawn), stop_(stop), on_ready_(std::move(on_ready)) {}

  // Without a probe the verifier is believed to work.
  void judge_with(verify::Verifier& verifier, std::optional<Job> probe);
  // A verdict of an evaluation's.
  void judged(const Verdict& verdict);
  // The store was written, or could not be.
  void wrote(const std::optional<Error>& failed);
  void drain() { draining_ = true; }

  // The verifier's part alone: what cannot be stored is still worth judging.
  bool may_judge() const { return verifier_works_; }
  Condition condition() const;
  std::string why() const;  // it is not ready
  // Of the last verdict; none before it.
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
