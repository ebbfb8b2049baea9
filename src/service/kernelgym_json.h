// KernelGYM's words for what is asked and answered: its trainers talk to this service as to its own. A
// dialect is thinner than ours: it has no word for a fault of the infrastructure but "failed", and none for a
// speed that nobody knows but 0.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>

#include "service/evaluation.h"

namespace kw::service {

struct KernelGymRequest {
  boost::json::object fields;  // in our words, for read_submission
  std::chrono::seconds timeout{300};
};

// {"task_id", "reference_code", "kernel_code", "entry_point", "num_correct_trials", "num_perf_trials",
// "timeout", "priority", "force_refresh", "workflow"}. What else there is goes along and changes nothing. A
// refusal's field is theirs.
Answered<KernelGymRequest> kernelgym_request(const boost::json::object& theirs);

// {"task_id", "status", "error_message", "submitted_at", "started_at", "completed_at"}
boost::json::object kernelgym_status(const Record& record);

// {"task_id", "status", "compiled", "correctness", "decoy_kernel", "reference_runtime", "kernel_runtime",
// "speedup", "metadata", "error_message", "error_code", "submitted_at", "completed_at", "processing_time"}.
// Speeds are those of replays alone. All but the first two and the last four are null until there is a
// verdict.
boost::json::object kernelgym_result(const Record& record);

}  // namespace kw::service
