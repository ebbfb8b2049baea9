// The verifier of a verb: the engine on this machine, which is checked first, or a service, with its flags,
// the names of deployments, and keys from the environment.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/rows/row_reader.h"
#include "options/shared_flags.h"
#include "verify/judge/local_verifier.h"
#include "verify/judge/static_verifier.h"
#include "verify/remote/remote_verifier.h"

namespace kw::app {

// The helper that reads Parquet. It runs under the same Python as candidates.
ParquetHelper parquet_helper(const std::string& python);

// The local verifier's options for this machine. Errors name the missing part and the remedy.
Result<verify::LocalVerifier::Options> on_this_host(const Settings& settings);

// The chosen evaluator, checked as far as possible before work starts.
struct EvaluatorPlan {
  Settings settings;
  std::optional<verify::LocalVerifier::Options> local;
  std::optional<remote::Options> remote;
  bool by_source_alone = false;  // no job needs a process: see verify/judge/static_verifier.h
};

// The wait for the evaluator's start: "starting Python with PyTorch"; empty if it starts nothing.
std::string start_words(const EvaluatorPlan& plan);

// The file or folder with the results of a run, empty if it stores none. A service recognises a resumed run
// by it.
struct RunPlace {
  std::string output;
  bool fresh = false;
};

Result<EvaluatorPlan> plan_evaluator(const EvaluatorFlags& evaluator, const Settings& settings,
                                     const RunPlace& place);

// The GPU's name as the driver reports it, or "cpu".
std::string device_of(const verify::LocalVerifier::Options& host);

class VerifierSource {
 public:
  using Say = std::function<void(const std::string& line)>;

  // Starts the verifier. The loop calls `say` with messages for the user.
  static async::Task<Result<std::unique_ptr<VerifierSource>>> start(async::Loop& loop, async::Stop& stop,
                                                                    EvaluatorPlan plan, Say say);

  verify::Verifier& verifier();
  std::string device() const;
  // The service's description of itself; null if this machine judges.
  const remote::ServiceInfo* remote_facts() const { return remote_ ? &remote_->facts() : nullptr; }
  // For --verbose.
  std::vector<std::string> words() const;
  async::Task<> end();

 private:
  VerifierSource(EvaluatorPlan plan, Say say) : plan_(std::move(plan)), say_(std::move(say)) {}
  async::Task<Result<>> start_here(async::Loop& loop, async::Stop& stop);

  EvaluatorPlan plan_;
  Say say_;
  std::shared_ptr<Timeline> timeline_;
  std::unique_ptr<verify::StaticVerifier> by_source_;
  std::unique_ptr<verify::LocalVerifier> local_;
  std::unique_ptr<remote::RemoteVerifier> remote_;
};

// Connection options of a service: flags, names of deployments, and keys from the environment.
Result<remote::Options> remote_options(const EvaluatorFlags& evaluator, const Settings& settings,
                                       const RunPlace& place);

}  // namespace kw::app
