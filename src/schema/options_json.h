#pragma once

#include <boost/json/object.hpp>

#include "schema/job_options.h"

namespace kw {

// Those that are set, as the service takes them: a named tolerance is its name, another {"rtol", "atol"}.
boost::json::object options_json(const JobOptions& options);

}  // namespace kw
