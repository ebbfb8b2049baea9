// The service's own endpoints, and what all dialects need: the JSON of a call, waiting while the client is
// connected, and a thread for work that would block the loop.
#pragma once

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/json/object.hpp>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/async/loop.h"
#include "serve/evaluation.h"
#include "serve/routes.h"

namespace kw::service {

// Workbench: a thread for work that would block the loop, such as parsing a body of megabytes.
class Workbench {
 public:
  // The work's result. Runs small work on the caller's thread, since a change of threads costs more.
  // Referenced objects must outlive it; close() waits for it.
  template <typename T>
  async::Task<T> result_of(std::size_t bytes, std::move_only_function<T()> work) {
    if (bytes <= few_bytes) co_return work();
    auto result = std::make_shared<std::optional<T>>();
    auto failed = co_await async::elsewhere([this, result, work = std::move(work)](async::Done done) mutable {
      boost::asio::post(pool_, [result, work = std::move(work), done = std::move(done)]() mutable {
        std::optional<Error> error;
        try {
          result->emplace(work());
        } catch (const std::exception& thrown) {
          error = Error{thrown.what(), {}};
        }
        done(std::move(error));
      });
    });
    if (failed) throw std::runtime_error(failed->what);
    co_return std::move(**result);
  }

  void close() { pool_.join(); }

 private:
  static constexpr std::size_t few_bytes = std::size_t{256} << 10;
  boost::asio::thread_pool pool_{1};
};

// The body's object; a refusal if it has another type or is not valid JSON.
Answered<boost::json::object> json_body(const Call& call);

// The result of the wait, or a refusal if the client disconnects first.
template <typename T>
async::Task<Answered<T>> unless_gone(const Call& call, async::Task<Answered<T>> waiting) {
  using namespace boost::asio::experimental::awaitable_operators;
  auto first = co_await (std::move(waiting) || call.responder.until_gone());
  if (first.index() == 0) co_return std::get<0>(std::move(first));
  co_return refuse({499, "client_gone", "the client has gone"});
}

// The service's own endpoints.
struct EvaluationLimits {
  std::size_t max_batch = 1'000;
};

// /v1/evaluations and its subpaths.
void add_evaluation_endpoints(Routes& routes, EvaluationBackend& backend, Workbench& workbench,
                              EvaluationLimits limits);

// The service's description of itself.
struct SelfPortrait {
  std::function<Answered<boost::json::object>()> service;                  // GET /v1/service
  std::function<async::Task<Answered<std::string>>(JobOptions)> protocol;  // POST /v1/protocol
  std::function<http::Response()> health;                                  // GET /health
  std::function<std::string()> metrics;                                    // GET /metrics
};

void add_service_endpoints(Routes& routes, SelfPortrait portrait);

// docs/openapi.json
std::string_view openapi();

}  // namespace kw::service
