// A job as the service takes it.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "schema/job.h"

namespace kw::remote {

// The fields of POST /v1/evaluations but the id. Fields that the row carried stay here.
boost::json::object request_of(const Job& job, const JobOptions& options, bool fresh);

// Names a piece of work of one run: a row, and what is asked of it.
std::string work_name(const std::string& run, const std::string& row, const boost::json::object& request);

// The id of one try at it. Another run, another request and another try have others.
std::string evaluation_id(const std::string& work, unsigned tried);

}  // namespace kw::remote
