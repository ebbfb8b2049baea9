// The first words with a service.
#include <fmt/format.h>

#include "async/within.h"
#include "remote/link.h"
#include "remote/remote_verifier.h"

namespace kw::remote {
namespace {

using namespace std::chrono_literals;
using Kind = Trouble::Kind;

constexpr http::BackoffOptions waiting_pace{500ms, 3'000ms};

// Asks until the service is ready, as long as it says that it will be.
class Greeting {
 public:
  Greeting(Api& api, const Options& options, async::Stop& stop) : api_(api), options_(options), stop_(stop) {}

  async::Task<Result<Facts>> facts() {
    auto deadline = async::Deadline::in(options_.pace.patience);
    http::Backoff backoff(waiting_pace);
    std::mt19937_64 random{std::random_device{}()};
    for (;;) {
      auto facts = co_await ready();
      if (facts) co_return std::move(*facts);
      const Trouble& trouble = facts.error();
      bool may_come = trouble.kind == Kind::not_ready || trouble.kind == Kind::full;
      if (!may_come || stop_.requested()) co_return std::unexpected(advised(trouble));
      if (deadline.passed())
        co_return fail(fmt::format("{}: not ready within {} s", trouble.what,
                                   std::chrono::duration<double>(options_.pace.patience).count()),
                       "look at its log, or give it more time with --evaluator-patience");
      say(trouble.what);
      co_await async::pause(backoff.next(trouble.retry_after, random), stop_);
    }
  }

 private:
  // A service that starts may not know yet what it is, but it knows its keys.
  async::Task<Answer<Facts>> ready() {
    auto health = co_await api_.health(stop_);
    if (!health) co_return std::unexpected(std::move(health.error()));
    auto facts = co_await api_.facts(stop_);
    if (!facts && facts.error().kind == Kind::locked) co_return facts;
    if (health->status != "ready")
      co_return std::unexpected(Trouble{.kind = Kind::not_ready,
                                        .what = fmt::format("{} is {}{}", api_.name(), health->status,
                                                            health->why.empty() ? "" : ": " + health->why)});
    co_return facts;
  }

  static Error advised(const Trouble& trouble) {
    if (!trouble.remedy.empty()) return trouble.error();
    if (trouble.status == 404 || trouble.status == 405)
      return {trouble.what, "another program has this address, or the service lies below another path"};
    return {trouble.what, "see whether the service runs there; `kernelwright serve` starts one"};
  }

  // Once for each thing that there is to say.
  void say(const std::string& line) {
    if (line != said_ && options_.say) options_.say(line);
    said_ = line;
  }

  Api& api_;
  const Options& options_;
  async::Stop& stop_;
  std::string said_;
};

}  // namespace

async::Task<Result<std::unique_ptr<RemoteVerifier>>> RemoteVerifier::start(async::Loop& loop,
                                                                           async::Stop& stop,
                                                                           Options options) {
  auto api = Api::make(loop, options);
  if (!api) co_return std::unexpected(api.error());
  Greeting greeting(**api, options, stop);
  auto facts = co_await greeting.facts();
  if (!facts) co_return std::unexpected(facts.error());
  auto protocol = co_await (*api)->protocol(options.settings, stop);
  if (!protocol) co_return std::unexpected(protocol.error().error());
  co_return std::unique_ptr<RemoteVerifier>(
      new RemoteVerifier(loop, std::move(options), std::move(*api), std::move(*facts), std::move(*protocol)));
}

}  // namespace kw::remote
