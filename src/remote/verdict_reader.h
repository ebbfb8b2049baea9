// A verdict that a service gives is believed only where it is one, and of what was asked.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "base/result.h"
#include "remote/trouble.h"
#include "schema/job.h"
#include "schema/verdict.h"

namespace kw::remote {

// Of the evaluation as the service tells it. `protocol`: under which it must have been judged; empty: any.
Result<Verdict> read_verdict(const boost::json::object& evaluation, const Job& job,
                             const std::string& protocol);

// There is none, for want of a service: never the kernel's fault.
Verdict no_verdict(const Job& job, const std::string& protocol, const Error& why);

}  // namespace kw::remote
