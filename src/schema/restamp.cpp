#include "schema/restamp.h"

namespace kw {

void restamp(Verdict& verdict, const Job& job) {
  verdict.id = job.id;
  verdict.task_id = job.task.task_id;
  verdict.sample_number = job.sample_number;
  verdict.candidate_sha256 = candidate_sha256(job.candidate.code);
  verdict.kernel_name.reset();
  if (!job.candidate.kernel_name.empty()) verdict.kernel_name = job.candidate.kernel_name;
}

Verdict no_verdict(const Job& job, std::string why) {
  Verdict verdict;
  restamp(verdict, job);
  verdict.status = Status::error;
  verdict.stage = Stage::prepare;
  verdict.fault = Fault::infrastructure;
  verdict.error = std::move(why);
  verdict.error_class = ErrorClass::infrastructure;
  verdict.timing.why_null = "it was not judged";
  return verdict;
}

}  // namespace kw
