#include "types/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "types/struct_json.h"

namespace kw {

std::optional<bool> correctness(const Verdict& verdict) {
  switch (verdict.status) {
    case Status::correct:
      return true;
    case Status::incorrect:
    case Status::failed:
      return false;
    case Status::skipped:
    case Status::error:
      return {};
  }
  return {};
}

const FamilyTrial* specialised_on(const Generality& generality) {
  for (const auto* trials : {&generality.families, &generality.shape_trials})
    for (const FamilyTrial& each : *trials)
      if (each.outcome == FamilyOutcome::failed && !each.reported_only) return &each;
  return nullptr;
}

ShapeGenerality generality_of(const std::vector<FamilyTrial>& shape_trials) {
  auto some = [&](FamilyOutcome outcome) {
    return std::ranges::any_of(shape_trials, [&](const FamilyTrial& each) {
      return each.outcome == outcome && each.family != empty_shape;
    });
  };
  if (some(FamilyOutcome::failed)) return ShapeGenerality::given_only;
  return some(FamilyOutcome::held) ? ShapeGenerality::any : ShapeGenerality::unknown;
}

bool correct_and_counts(const Verdict& verdict) {
  return verdict.status == Status::correct && verdict.counts.value_or(false);
}

namespace {

template <typename Predicate>
std::optional<bool> faster(const Verdict& verdict, Predicate enough) {
  auto correct = correctness(verdict);
  if (!correct || !*correct) return correct;
  if (!verdict.speedup) return {};
  return enough(*verdict.speedup);
}

}  // namespace

std::optional<bool> fast_1(const Verdict& verdict) {
  return faster(verdict, [](double speedup) { return speedup > 1.0; });
}

std::optional<bool> fast_2(const Verdict& verdict) {
  return faster(verdict, [](double speedup) { return speedup >= 2.0; });
}

std::optional<double> speedup_trusted(const Verdict& verdict, Trust least) {
  auto rank = [](Trust trust) { return trust == Trust::replay ? 2 : trust == Trust::in_process ? 1 : 0; };
  if (!verdict.trust || rank(*verdict.trust) < rank(least)) return {};
  const bool claimed = *verdict.trust == Trust::in_process && !verdict.speedup && verdict.reference_time_ms &&
                       verdict.kernel_time_ms.value_or(0) > 0;
  return claimed ? std::optional(*verdict.reference_time_ms / *verdict.kernel_time_ms) : verdict.speedup;
}

}  // namespace kw

// The fields of the schema in their order; fields that are computed from others are inserted below.
namespace kw {
namespace json = boost::json;

BOOST_DESCRIBE_STRUCT(ErrorDetail, (), (file, line, compiler_text, traceback))
BOOST_DESCRIBE_STRUCT(Tolerance, (), (name, rtol, atol))
BOOST_DESCRIBE_STRUCT(FirstMismatch, (), (output, index, expected, actual))
BOOST_DESCRIBE_STRUCT(ErrorRatio, (), (output, unit, error_ratio, why_null))
BOOST_DESCRIBE_STRUCT(Comparison, (),
                      (tolerance, trials, max_abs_error, max_rel_error, mismatched_share, error_ratio,
                       error_ratio_why_null, error_ratios, first_mismatch, findings))
BOOST_DESCRIBE_STRUCT(FamilyTrial, (),
                      (family, outcome, reported_only, inputs, why, max_abs_error, mismatched_share,
                       max_error_over_limit))
BOOST_DESCRIBE_STRUCT(Generality, (), (families, why_not, shapes, shape_trials))
BOOST_DESCRIBE_STRUCT(SanitizerFinding, (), (kind, kernel, tensor, place))
BOOST_DESCRIBE_STRUCT(SanitizerCheck, (), (check, outcome, why_not, findings))
BOOST_DESCRIBE_STRUCT(Clocks, (), (sm_mhz, memory_mhz, throttle))
BOOST_DESCRIBE_STRUCT(Segment, (), (reference_time_ms, kernel_time_ms, speedup))
BOOST_DESCRIBE_STRUCT(Segments, (), (forward, backward))
BOOST_DESCRIBE_STRUCT(Timing, (),
                      (instrument, reference_samples_ms, kernel_samples_ms, reference_interval_ms,
                       kernel_interval_ms, floor_ms, call_speedup, compile_time_ms, roofline_share, clocks,
                       why_null, segments, segments_why_null))
BOOST_DESCRIBE_STRUCT(Launch, (),
                      (name, whose, cubin_sha256, grid, block, registers, spills, shared_bytes, time_ms))
BOOST_DESCRIBE_STRUCT(DeviceTimeShare, (), (triton, native, library, unattested))
BOOST_DESCRIBE_STRUCT(ReplayFacts, (),
                      (recordings, operations, streams, downloads, unjoined, orders, why_not))
BOOST_DESCRIBE_STRUCT(Call, (), (entry, convention, arguments, weights, input_dtypes))
BOOST_DESCRIBE_STRUCT(Isolation, (), (level, layers))
BOOST_DESCRIBE_STRUCT(Environment, (), (gpu, driver, cuda, torch, triton, program_version, protocol))
BOOST_DESCRIBE_STRUCT(Verdict, (),
                      (id, task_id, sample_number, candidate_sha256, work, kernel_name, status, stage, fault,
                       error, error_class, error_detail, speedup, reference_time_ms, kernel_time_ms, counts,
                       counts_reason, shapes, trust, isolation, comparison, generality, gradients, sanitized,
                       judged_calls, timing, launches, triton_share, device_time_share, replay, call, printed,
                       evidence, environment, stages_ms))

namespace {

using struct_json::written;

double read_element(const json::value* value) {
  Element element{std::numeric_limits<double>::quiet_NaN()};
  if (value != nullptr) read(*value, element);
  return element.value;
}

// The median of the samples; null without a time, which is the mean of their middle half.
json::value median_of(std::vector<double> samples, const std::optional<double>& time_ms) {
  if (!time_ms || samples.empty()) return written(time_ms);
  std::ranges::sort(samples);
  const std::size_t half = samples.size() / 2;
  return written(samples.size() % 2 == 1 ? samples[half] : (samples[half - 1] + samples[half]) / 2);
}

// A field without a member, and the field that precedes it.
struct Reckoned {
  std::string_view after;
  std::string_view name;
  json::value value;
};

// The fields with the computed ones inserted; those after the same field keep their order.
json::object joined(json::object fields, std::vector<Reckoned> reckoned) {
  json::object object;
  object.reserve(fields.size() + reckoned.size());
  for (auto& field : fields) {
    const std::string_view name = field.key();
    object.emplace(name, std::move(field.value()));
    for (Reckoned& each : reckoned)
      if (each.after == name) object.emplace(each.name, std::move(each.value));
  }
  return object;
}

json::object timing_json(const Verdict& v) {
  return joined(
      struct_json::fields_of(v.timing),
      {{"kernel_samples_ms", "reference_median_ms",
        median_of(v.timing.reference_samples_ms, v.reference_time_ms)},
       {"kernel_samples_ms", "kernel_median_ms", median_of(v.timing.kernel_samples_ms, v.kernel_time_ms)}});
}

}  // namespace

json::object to_json(const Verdict& v) {
  json::object fields = struct_json::fields_of(v);
  fields["timing"] = timing_json(v);
  if (v.comparison && v.comparison->first_mismatch) {
    json::object& first = fields["comparison"].as_object()["first_mismatch"].as_object();
    first["expected"] = kw::written(Element{v.comparison->first_mismatch->expected});
    first["actual"] = kw::written(Element{v.comparison->first_mismatch->actual});
  }
  json::object object{{"schema", verdict_schema}};
  for (auto& field : joined(std::move(fields), {{"status", "correctness", written(correctness(v))},
                                                {"kernel_time_ms", "fast_0", written(correctness(v))},
                                                {"kernel_time_ms", "fast_1", written(fast_1(v))},
                                                {"kernel_time_ms", "fast_2", written(fast_2(v))}}))
    object.emplace(field.key(), std::move(field.value()));
  for (const auto& [key, value] : v.further) object.emplace(key, value);
  return object;
}

Result<Verdict> verdict_from_json(const json::object& o) {
  const json::value* schema = o.if_contains("schema");
  if (!schema || *schema != verdict_schema) return fail(fmt::format("not a {} object", verdict_schema));
  Verdict v;
  bool is_whole = true;
  auto need = [&](const char* name, auto& member) {
    is_whole = is_whole && struct_json::read_member(o, name, member);
  };
  need("id", v.id);
  need("task_id", v.task_id);
  need("candidate_sha256", v.candidate_sha256);
  need("status", v.status);
  need("stage", v.stage);
  if (!is_whole) return fail("a verdict lacks id, task_id, candidate_sha256, status or stage");
  struct_json::read_fields(o, v);
  if (v.comparison && v.comparison->first_mismatch) {
    const json::object& first = o.at("comparison").at("first_mismatch").get_object();
    v.comparison->first_mismatch->expected = read_element(first.if_contains("expected"));
    v.comparison->first_mismatch->actual = read_element(first.if_contains("actual"));
  }
  // An isolation without a level is unknown.
  if (v.isolation) {
    if (!struct_json::read_member(o.at("isolation").get_object(), "level", v.isolation->level))
      v.isolation.reset();
  }
  return v;
}

namespace json = boost::json;

json::object output_object(const Verdict& verdict, const json::object& carried) {
  json::object line = to_json(verdict);
  json::object collided;
  for (const auto& [key, value] : carried) {
    if (key == "carried" || line.contains(key))
      collided[key] = value;
    else
      line[key] = value;
  }
  if (!collided.empty()) line["carried"] = std::move(collided);
  return line;
}

}  // namespace kw
