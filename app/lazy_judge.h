// The verifier of a verb that may never need one: the first request starts it.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "mcp/judge.h"
#include "options/shared_flags.h"
#include "session.h"
#include "verifier_source.h"

namespace kw::app {

class LazyJudge : public mcp::Judge {
 public:
  using Say = std::function<void(std::string_view what)>;

  // The session must outlive the judge.
  LazyJudge(Session& session, EvaluatorFlags evaluator, Settings settings)
      : session_(session), evaluator_(std::move(evaluator)), settings_(std::move(settings)) {}

  async::Task<Result<verify::SharedVerifier*>> ready(Say say) override;

  // Once a stop of the session was requested: ends the verifier, and the start of one.
  async::Task<> end();

 private:
  static async::Task<> start(LazyJudge* judge);
  void tell(std::string_view what);

  Session& session_;
  EvaluatorFlags evaluator_;
  Settings settings_;
  std::shared_ptr<async::Event> starting_;  // null: nobody starts it
  std::vector<Say> waiting_;                // for the start
  Error failure_;                           // of the last start
  std::unique_ptr<VerifierSource> source_;
  std::unique_ptr<verify::SharedVerifier> verifier_;  // null: not started
};

}  // namespace kw::app
