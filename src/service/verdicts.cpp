#include "service/verdicts.h"

#include <boost/json/serialize.hpp>

#include "schema/json.h"
#include "schema/output_object.h"
#include "schema/restamp.h"
#include "schema/reward.h"

namespace kw::service {
namespace {

// A request says by which terms; its verdict has the reward in the place of them.
boost::json::value reward_json(const Verdict& verdict, const boost::json::value& asked) {
  auto terms = reward_terms_from_json(asked);
  auto reward = terms ? reward_of(verdict, *terms) : std::nullopt;
  return reward ? boost::json::value(*reward) : boost::json::value(nullptr);
}

}  // namespace

std::string verdict_text(Verdict verdict, const Job& job) {
  restamp(verdict, job);
  boost::json::object carried = job.carried;
  if (boost::json::value* reward = carried.if_contains("reward"); reward && !reward->is_null())
    *reward = reward_json(verdict, *reward);
  return boost::json::serialize(output_object(verdict, carried));
}

std::string shared_verdict_text(std::string_view known, const Job& job) {
  auto value = parse_json(known);
  if (!value || !value->is_object()) return verdict_text(no_verdict(job, "the store is damaged"), job);
  auto verdict = verdict_from_json(value->get_object());
  if (!verdict) return verdict_text(no_verdict(job, verdict.error().what), job);
  return verdict_text(std::move(*verdict), job);
}

}  // namespace kw::service
