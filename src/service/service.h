// Service: the evaluation service behind HTTP. It judges nothing itself: it keeps what is asked, hands it to
// a verifier in order, and keeps what comes back.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/stop.h"
#include "http/server.h"
#include "service/clock.h"
#include "service/desk.h"
#include "service/routes.h"
#include "verify/verifier.h"

namespace kw::service {

struct Options {
  std::filesystem::path store;
  std::string key{};                                   // empty: everybody may ask
  std::size_t max_body_bytes = std::size_t{32} << 20;  // to be given to the server too
  std::size_t queue = 10'000;                          // evaluations that wait at most
  std::size_t queue_bytes = std::size_t{1} << 30;      // of their requests together
  std::size_t max_batch = 1'000;
  double rate = 0;  // requests a second and address; 0: as many as come
  std::chrono::seconds retention{7 * 24 * 3600};
  bool log_requests = true;
  bool log_bodies = false;  // with the code that was sent
  int log_descriptor = -1;  // for lines of JSON; -1: nothing is logged
  std::string version{};
  Clock clock = Clock::of_this_machine();
};

// What the verifier is, for GET /v1/service, and how to find out whether it works.
struct Facts {
  std::string device = "cpu";  // or "cuda"
  std::vector<std::string> gpus{};
  JobOptions settings{};
  std::optional<Job> probe{};  // a tiny job whose verdict must be correct; none: it is believed to work
};

class Service {
 public:
  // Opens the store, with what an earlier service left in it. `loop` and `stop`, which ends all at once, must
  // outlive the service. It answers from then on, and judges nothing yet.
  static Result<std::unique_ptr<Service>> open(async::Loop& loop, async::Stop& stop, Options options);
  ~Service();

  // Begins to judge. The verifier must outlive drain().
  void judge_with(verify::Verifier& verifier, Facts facts);

  // Answers one request: an http::Handler.
  async::Task<> handle(const http::Request& request, http::Responder& responder);

  // Who has no key, said before a body is read: http::ServerOptions::turn_away.
  std::optional<http::Response> turn_away(const http::Request& head) const;

  // Takes nothing new; what runs may end within the time and is stopped then. What has no verdict by then
  // stays in the store for the next start.
  async::Task<> drain(std::chrono::milliseconds patience);

  // For dialects: endpoints of their own over the same evaluations.
  EvaluationDesk& desk();
  Routes& routes();

 private:
  struct State;
  explicit Service(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace kw::service
