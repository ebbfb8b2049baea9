// The service's own endpoints.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include <boost/json/object.hpp>

#include "service/desk.h"
#include "service/routes.h"
#include "service/workbench.h"

namespace kw::service {

struct EvaluationLimits {
  std::size_t max_batch = 1'000;
};

// /v1/evaluations and all below it.
void add_evaluation_endpoints(Routes& routes, EvaluationDesk& desk, Workbench& workbench,
                              EvaluationLimits limits);

// What the service says of itself.
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
