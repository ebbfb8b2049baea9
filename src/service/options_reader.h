// The options of one evaluation out of JSON; schema/options.h writes them.
#pragma once

#include <boost/json/value.hpp>

#include "schema/settings.h"
#include "service/evaluation.h"

namespace kw::service {

// A refusal names the option: "options.tolerance.rtol". Unknown options are refused.
Answered<JobOptions> read_options(const boost::json::value& value);

}  // namespace kw::service
