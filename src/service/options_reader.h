// The options of one evaluation out of JSON, and as JSON.
#pragma once

#include <boost/json/object.hpp>

#include "schema/job_options.h"
#include "service/evaluation.h"

namespace kw::service {

// A refusal names the option: "options.tolerance.rtol". Unknown options are refused.
Answered<JobOptions> read_options(const boost::json::value& value);

// Those that are set; read_options reads them again.
boost::json::object options_json(const JobOptions& options);

}  // namespace kw::service
