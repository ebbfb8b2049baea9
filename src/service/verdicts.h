// Verdicts as the service stores them and gives them out.
#pragma once

#include <string>
#include <string_view>

#include "schema/job.h"
#include "schema/verdict.h"

namespace kw::service {

// As JSON, with the fields that the job carried, in the name of that job.
std::string verdict_text(Verdict verdict, const Job& job);

// The same of a verdict's own text.
std::string shared_verdict_text(std::string_view known, const Job& job);

}  // namespace kw::service
