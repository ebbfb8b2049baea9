// Verdicts under the names of a job.
#pragma once

#include <string>

#include "schema/job.h"
#include "schema/verdict.h"

namespace kw {

// Gives the verdict the job's id, task, sample number and kernel name (none where the job has none), in the
// place of those of the job that it was made for.
void restamp(Verdict& verdict, const Job& job);

// The verdict where there is none, through no fault of the candidate or the task.
Verdict no_verdict(const Job& job, std::string why);

}  // namespace kw
