// Converts a job to the service's request, and checks the service's verdict: its form, and that it belongs
// to the requested candidate, task and protocol.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "base/core/result.h"
#include "types/job.h"
#include "types/verdict.h"
#include "verify/remote/service.h"

namespace kw::remote {

// The fields of POST /v1/evaluations except the id. The row's other fields are not sent.
boost::json::object request_of(const Job& job, const JobOptions& options, bool fresh);

// Identifies a piece of work of a run: a row and its options.
std::string work_name(const std::string& run, const std::string& row, const boost::json::object& request);

// The id of one attempt. It is different for every run, piece of work and attempt.
std::string evaluation_id(const std::string& work, unsigned tried);

// Reads the verdict of the evaluation. `protocol` is the required protocol; empty: any.
Result<Verdict> read_verdict(const boost::json::object& evaluation, const Job& job,
                             const std::string& protocol);

// The verdict for a failure of the service: never the kernel's fault.
Verdict no_verdict(const Job& job, const std::string& protocol, const Error& why);

}  // namespace kw::remote
