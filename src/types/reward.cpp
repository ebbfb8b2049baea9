#include "types/reward.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <cmath>

#include "base/core/json.h"

namespace kw {
namespace json = boost::json;
namespace {

constexpr const char* reward_remedy =
    R"(give {"base": 0.3, "cap": 5, "min_trust": "replay"}, or a part of it)";

Result<> read_number(const json::object& object, std::string_view key, double& number) {
  const json::value* value = object.if_contains(key);
  if (!value || value->is_null()) return {};
  auto given = number_at(object, key);
  if (!given || !std::isfinite(*given) || *given < 0)
    return fail(fmt::format("reward: \"{}\" is no number from 0", key), reward_remedy);
  number = *given;
  return {};
}

Result<> read_trust(const json::object& object, Trust& trust) {
  const json::value* value = object.if_contains("min_trust");
  if (!value || value->is_null()) return {};
  auto given = from_string<Trust>(string_at(object, "min_trust").value_or(""));
  if (!given || *given == Trust::interpreter)
    return fail("reward: \"min_trust\" is neither \"in-process\" nor \"replay\"", reward_remedy);
  trust = *given;
  return {};
}

}  // namespace

std::optional<double> reward_of(const Verdict& verdict, const RewardTerms& terms) {
  if (verdict.fault == Fault::task || verdict.fault == Fault::infrastructure) return {};
  if (!correct_and_counts(verdict)) return 0;
  return terms.base + std::min(speedup_trusted(verdict, terms.min_trust).value_or(0), terms.cap);
}

Result<RewardTerms> reward_terms_from_json(const json::value& value) {
  RewardTerms terms;
  if (value.is_null()) return terms;
  if (!value.is_object()) return fail("reward is not a JSON object", reward_remedy);
  const json::object& object = value.get_object();
  for (const auto& [key, ignored] : object)
    if (key != "base" && key != "cap" && key != "min_trust")
      return fail(fmt::format("reward has no term \"{}\"", std::string_view(key)), reward_remedy);
  for (auto read : {read_number(object, "base", terms.base), read_number(object, "cap", terms.cap),
                    read_trust(object, terms.min_trust)})
    if (!read) return std::unexpected(read.error());
  return terms;
}

}  // namespace kw
