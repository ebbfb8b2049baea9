// What the service does with verdicts: it names work, shares verdicts, and makes one where there is none.
#pragma once

#include <string>
#include <string_view>

#include "schema/job.h"
#include "schema/verdict.h"

namespace kw::service {

// Equal for jobs that get equal verdicts: by what is judged, and how, not by what it is called.
std::string work_key(const Job& job, const std::string& protocol);

// As JSON, with the fields that the job carried, in the name of that job.
std::string verdict_text(Verdict verdict, const Job& job);

// The same of a verdict's own text.
std::string shared_verdict_text(std::string_view known, const Job& job);

// The verdict where the verifier failed.
Verdict no_fault_of_the_candidate(const Job& job, std::string why);

}  // namespace kw::service
