// KernelGYM's HTTP dialect: POST /evaluate, POST /evaluate/batch, GET /status/ID, GET /results/ID, DELETE
// /tasks/ID. Its trainers can use this service unchanged. The dialect has fewer values: a fault of the
// infrastructure is "failed", and an unknown speed is 0.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>

#include "serve/evaluation.h"
#include "serve/routes.h"

namespace kw::service {

// Requests and responses in KernelGYM's JSON: its trainers can use this service unchanged. The dialect has
// fewer values: a fault of the infrastructure is "failed", and an unknown speed is 0.
struct KernelGymRequest {
  boost::json::object fields;  // in the form of read_submission
  std::chrono::seconds timeout{300};
};

// {"task_id", "reference_code", "kernel_code", "entry_point", "num_correct_trials", "num_perf_trials",
// "timeout", "priority", "force_refresh", "workflow"}. Fields that would change the result are refused at
// values that this service does not honour ("run_correctness": false). "reference_backend": "compile" asks
// for the option compile_baseline. Other fields are carried through without effect. A refusal names the field
// of KernelGYM.
Answered<KernelGymRequest> kernelgym_request(const boost::json::object& theirs);

// {"task_id", "status", "error_message", "submitted_at", "started_at", "completed_at"}
boost::json::object kernelgym_status(const EvaluationState& record);

// {"task_id", "status", "compiled", "correctness", "decoy_kernel", "reference_runtime", "kernel_runtime",
// "speedup", "metadata", "error_message", "error_code", "submitted_at", "completed_at", "processing_time"}.
// Speeds are those of replays alone; reference_runtime and speedup are those of the reference_backend that
// was asked for. All but the first two and the last four are null until there is a verdict.
boost::json::object kernelgym_result(const EvaluationState& record);

// All paths at the root and below /kernelgym, where GET /kernelgym/health also answers in the dialect:
// trainers use that URL as their server's. Routes must outlive the endpoints.
void add_kernelgym(Routes& routes);

}  // namespace kw::service
