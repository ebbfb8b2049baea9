// Service: the evaluation service behind HTTP. It stores requests, passes them to a verifier in order, and
// stores the verdicts.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/async/wait.h"
#include "base/http/served_names.h"
#include "base/http/server.h"
#include "serve/evaluation.h"
#include "serve/owners.h"
#include "serve/routes.h"
#include "serve/runtime.h"
#include "serve/task_catalogue.h"
#include "verify/api/verifier.h"

namespace kw::service {

struct Options {
  std::filesystem::path store;
  std::string key{};                 // of the operator
  std::vector<OwnerRules> owners{};  // whose keys are admitted as well; no key at all: none is required
  std::optional<http::ServedNames> names{};            // refuses requests of other sites; none: no check
  std::size_t max_body_bytes = std::size_t{32} << 20;  // must also be set in the server's options
  std::size_t queue = 10'000;                          // evaluations that may wait
  std::size_t queue_bytes = std::size_t{1} << 30;      // total size of their requests
  std::size_t max_batch = 1'000;
  double rate = 0;  // requests per second and address; 0: unlimited
  std::chrono::seconds retention{7 * 24 * 3600};
  TaskCataloguePtr tasks{};  // that requests may name by id; null: none
  bool gradients = false;    // are judged where a request does not say, so that prompts ask for them
  std::size_t conversations = 10'000;                     // that may be open
  std::size_t conversation_bytes = std::size_t{8} << 20;  // of the completions of one
  std::chrono::seconds conversation_ttl{3600};            // from the opening, or the last verdict
  bool log_requests = true;
  bool log_bodies = false;  // with the code that was sent
  int log_descriptor = -1;  // for lines of JSON; -1: nothing is logged
  std::string version{};
  Clock clock = Clock::of_this_machine();
};

// The verifier's description for GET /v1/service, and the probe of its health.
struct ServiceSetup {
  std::string device = "cpu";  // or "cuda"
  std::vector<std::string> gpus{};
  JobOptions settings{};
  std::optional<Job> probe{};  // a tiny job whose verdict must be correct; none: no check
};

class Service {
 public:
  // Opens the store with the evaluations of an earlier service. `loop` and `stop`, which ends the service at
  // once, must outlive it. It answers requests at once, but judges none before judge_with().
  static Result<std::unique_ptr<Service>> open(async::Loop& loop, async::Stop& stop, Options options);
  ~Service();

  // Starts judging. The verifier must outlive drain().
  void judge_with(verify::Verifier& verifier, ServiceSetup facts);

  // From now on these owners' keys are admitted, in place of the earlier ones. An error, of reading them, is
  // logged, and the earlier ones stay. A session of a WebSocket whose owner's rules have changed must be
  // opened again; what was accepted is judged. The service must have had owners when it was opened.
  void use_owners(Result<std::vector<OwnerRules>> owners);

  // Answers one request: an http::Handler.
  async::Task<> handle(const http::Request& request, http::Responder& responder);

  // Refuses requests of other sites, without a key, and above a rate before their body is read:
  // http::ServerOptions::turn_away.
  std::optional<http::Response> turn_away(const http::Request& head) const;

  // Accepts and starts no more evaluations; running ones may end within the time, then it stops them.
  // Evaluations without a verdict stay in the store for the next start.
  async::Task<> drain(std::chrono::milliseconds patience);

  // For dialects: adds endpoints for the same evaluations.
  EvaluationBackend& backend();
  Routes& routes();

 private:
  struct State;
  explicit Service(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace kw::service
