// The verifier that a verb judges with: the engine on this machine, or a service.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flags/evaluator_flags.h"
#include "host.h"
#include "remote/remote_verifier.h"

namespace kw::app {

// What was chosen, checked as far as it can be before anything starts.
struct EvaluatorPlan {
  Settings settings;
  std::optional<verify::LocalVerifier::Options> local;
  std::optional<remote::Options> remote;
};

// The file or folder that a run keeps its results in, empty where it keeps none: a service knows a run that
// goes on by it.
struct RunPlace {
  std::string output;
  bool fresh = false;
};

Result<EvaluatorPlan> plan_evaluator(const EvaluatorFlags& evaluator, const Settings& settings,
                                     const RunPlace& place);

// The GPU's name as its driver has it, or "cpu".
std::string device_of(const verify::LocalVerifier::Options& host);

class Evaluator {
 public:
  using Say = std::function<void(const std::string& line)>;

  // Ready to judge. `say` is called from the loop, with what a person may want to know.
  static async::Task<Result<std::unique_ptr<Evaluator>>> start(async::Loop& loop, async::Stop& stop,
                                                               EvaluatorPlan plan, Say say);

  verify::Verifier& verifier();
  std::string device() const;
  // What the service says of itself; null where this machine judges.
  const remote::Facts* remote_facts() const { return remote_ ? &remote_->facts() : nullptr; }
  // For --verbose.
  std::vector<std::string> words() const;
  async::Task<> end();

 private:
  explicit Evaluator(EvaluatorPlan plan) : plan_(std::move(plan)) {}

  EvaluatorPlan plan_;
  std::unique_ptr<verify::LocalVerifier> local_;
  std::unique_ptr<remote::RemoteVerifier> remote_;
};

}  // namespace kw::app
