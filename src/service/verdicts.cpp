#include "service/verdicts.h"

#include <boost/json/serialize.hpp>

#include "base/hash.h"
#include "schema/json.h"
#include "schema/output_object.h"
#include "schema/reward.h"

namespace kw::service {
namespace {

constexpr std::size_t key_digits = 32;

// A request says by which terms; its verdict has the reward in the place of them.
boost::json::value reward_json(const Verdict& verdict, const boost::json::value& asked) {
  auto terms = reward_terms_from_json(asked);
  auto reward = terms ? reward_of(verdict, *terms) : std::nullopt;
  return reward ? boost::json::value(*reward) : boost::json::value(nullptr);
}

}  // namespace

std::string work_key(const Job& job, const std::string& protocol) {
  const Task& task = job.task;
  return sha256_hex_of({task.reference_code, canonical_json_text(task.input_shapes), task.entry_point,
                        job.candidate.code, job.candidate.entry, protocol})
      .substr(0, key_digits);
}

std::string verdict_text(Verdict verdict, const Job& job) {
  verdict.id = job.id;
  verdict.task_id = job.task.task_id;
  verdict.sample_number = job.sample_number;
  if (!job.candidate.kernel_name.empty()) verdict.kernel_name = job.candidate.kernel_name;
  boost::json::object carried = job.carried;
  if (boost::json::value* reward = carried.if_contains("reward"); reward && !reward->is_null())
    *reward = reward_json(verdict, *reward);
  return boost::json::serialize(output_object(verdict, carried));
}

std::string shared_verdict_text(std::string_view known, const Job& job) {
  auto value = parse_json(known);
  if (!value || !value->is_object())
    return verdict_text(no_fault_of_the_candidate(job, "the store is damaged"), job);
  auto verdict = verdict_from_json(value->get_object());
  if (!verdict) return verdict_text(no_fault_of_the_candidate(job, verdict.error().what), job);
  return verdict_text(std::move(*verdict), job);
}

Verdict no_fault_of_the_candidate(const Job& job, std::string why) {
  Verdict verdict;
  verdict.candidate_sha256 = candidate_sha256(job.candidate.code);
  verdict.status = Status::error;
  verdict.stage = Stage::prepare;
  verdict.fault = Fault::infrastructure;
  verdict.error = why;
  verdict.error_class = ErrorClass::infrastructure;
  verdict.timing.why_null = std::move(why);
  return verdict;
}

}  // namespace kw::service
