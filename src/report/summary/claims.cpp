#include "report/summary/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/core/counted.h"
#include "base/core/display.h"
#include "base/core/json.h"
#include "report/summary/circumstances.h"

namespace kw::report {
namespace json = boost::json;
namespace {

using score::Estimate;
using score::Standing;

constexpr std::size_t longest_source = 60;  // cells

// What the claims of one summary share.
struct Basis {
  const Summary& summary;
  Circumstances judged;         // right and wrong rows
  Circumstances timed;          // right rows with a known speed
  Circumstances timed_compile;  // right rows with a known speed against torch.compile
  std::set<std::size_t> sources;
  std::int64_t most_turns = 1;
};

Basis basis_of(const Index& index, const Summary& summary, const WantedRow& wanted) {
  Basis basis{summary, {}, {}, {}, {}};
  const Rows& rows = index.rows;
  for (std::size_t row = 0; row < rows.count; ++row) {
    if (!is_sample(rows, row, wanted) || standing_of(rows, row) == Standing::unknown) continue;
    basis.judged.add(rows, row);
    basis.sources.insert(static_cast<std::size_t>(rows.source[row].value_or(-1)));
    basis.most_turns = std::max(basis.most_turns, rows.turns[row].value_or(1));
    if (speedup_of(rows, row, Baseline::eager)) basis.timed.add(rows, row);
    if (speedup_of(rows, row, Baseline::compile)) basis.timed_compile.add(rows, row);
  }
  return basis;
}

std::string samples_words(std::size_t count) {
  return counted(count, "sample");
}

std::string number(double value) {
  return fmt::format("{:.3f}", value);
}

// "0.583 (95% interval 0.417 to 0.733, Wilson)"
std::string value_words(const Estimate& estimate, std::string_view unit = "") {
  std::string text = number(estimate.value.value_or(0)) + std::string(unit);
  std::string why = estimate.why.empty() ? "" : "; " + estimate.why;
  if (!estimate.interval)
    return fmt::format("{} ({})", text, estimate.why.empty() ? "no interval" : estimate.why);
  return fmt::format("{} (95% interval {} to {}, {}{})", text, number(estimate.interval->low),
                     number(estimate.interval->high), estimate.method, why);
}

// How rows become one value, and which are left out.
std::string averaging_words(const Basis& basis) {
  std::string text = "mean over tasks, each with the share of its samples; ";
  text += samples_words(basis.judged.rows());
  if (std::size_t unfinished = basis.summary.unfinished; unfinished > 0)
    text += fmt::format(" of the {} that have ended; {} {} unfinished", basis.summary.rows - unfinished,
                        unfinished, unfinished == 1 ? "is" : "are");
  if (basis.summary.unknown > 0) text += fmt::format(", {} not judged and left out", basis.summary.unknown);
  if (basis.most_turns > 1)
    text += fmt::format("; each sample by its best turn of up to {}", basis.most_turns);
  return text;
}

std::string_view baseline_words(Baseline baseline) {
  return baseline == Baseline::eager ? "PyTorch eager" : "PyTorch under torch.compile";
}

std::string correctness_words(const Circumstances& rows) {
  return rows.words({"model", "dtype", "tolerance", "shapes", "trust", "GPU", "protocol", "PyTorch", "Triton",
                     "judged by"});
}

std::string speed_words(const Circumstances& rows) {
  return rows.words({"model", "dtype", "tolerance", "timer", "SM clock", "throttling", "trust", "GPU",
                     "protocol", "PyTorch", "Triton", "judged by"});
}

void set_estimate(const Estimate& estimate, Claim& claim) {
  claim.value = estimate.value;
  if (!estimate.interval) return;
  claim.low = estimate.interval->low;
  claim.high = estimate.interval->high;
}

Claim right_claim(const Basis& basis) {
  const Estimate& share = basis.summary.fast_p.points.front().share;
  Claim claim{.figure = "fast_0"};
  set_estimate(share, claim);
  claim.text =
      fmt::format("fast_0 (right and counting) = {}: {}; {}; {}{}", value_words(share),
                  basis.judged.tasks_words(), averaging_words(basis), correctness_words(basis.judged),
                  basis.summary.no_speed.empty() ? "" : "; speed not measured: " + basis.summary.no_speed);
  return claim;
}

const score::FastPoint* point_at(const score::FastCurve& curve, double p) {
  auto found = std::ranges::find(curve.points, p, &score::FastPoint::p);
  return found == curve.points.end() ? nullptr : &*found;
}

// The share of tasks that are right and faster than the baseline; at least one sample was timed.
Claim faster_claim(std::string figure, const score::FastCurve& curve, const Circumstances& timed,
                   Baseline baseline, const Basis& basis) {
  const score::FastPoint* point = point_at(curve, 1);
  if (!point) return {};
  Claim claim{.figure = std::move(figure)};
  set_estimate(point->share, claim);
  std::string value =
      point->share.value
          ? value_words(point->share)
          : fmt::format("between {} and {} (no value: {} of right answers without a known speed)",
                        number(point->at_least.value.value_or(0)), number(point->at_most.value.value_or(1)),
                        samples_words(point->unknown_speeds));
  claim.text = fmt::format("fast_1 (right and faster than {}) = {}: {}; {}; {} timed: {}",
                           baseline_words(baseline), value, basis.judged.tasks_words(),
                           averaging_words(basis), samples_words(timed.rows()), speed_words(timed));
  return claim;
}

Claim mean_claim(std::string figure, const Estimate& mean, const Circumstances& timed, Baseline baseline,
                 const Basis& basis) {
  Claim claim{.figure = std::move(figure)};
  set_estimate(mean, claim);
  claim.text = fmt::format(
      "speed-up over {} = {}: geometric mean over tasks, each with the geometric mean of its right samples; "
      "{}, of {} with judged samples: tasks without a right and timed sample have no speed; {} timed: {}",
      baseline_words(baseline), value_words(mean, "×"), timed.tasks_words(), basis.summary.tasks,
      samples_words(timed.rows()), speed_words(timed));
  return claim;
}

// "unfinished source before.run: ": in our words first, so that no name can begin a line.
std::string about_words(const Index& index, const Summary& summary, const Basis& basis,
                        std::optional<std::size_t> source) {
  bool is_open = summary.unfinished > 0 || std::ranges::any_of(basis.sources, [&](std::size_t each) {
                   return each < index.sources.size() && is_unfinished(index.sources[each]);
                 });
  std::string text = is_open ? "unfinished" : "";
  if (source && *source < index.sources.size())
    text += fmt::format("{}source {}", is_open ? " " : "",
                        fitted(visible_line(index.sources[*source].name), longest_source));
  return text.empty() ? text : text + ": ";
}

}  // namespace

std::vector<Claim> claims_of(const Index& index, const Summary& summary, const WantedRow& wanted,
                             std::optional<std::size_t> source) {
  if (summary.right + summary.wrong == 0) return {};
  Basis basis = basis_of(index, summary, wanted);
  std::vector<Claim> claims{right_claim(basis)};
  if (basis.timed.rows() > 0) {
    claims.push_back(faster_claim("fast_1", summary.fast_p, basis.timed, Baseline::eager, basis));
    claims.push_back(mean_claim("geometric_mean_speedup", summary.geometric_mean_speedup, basis.timed,
                                Baseline::eager, basis));
  }
  if (summary.fast_p_compile) {
    claims.push_back(faster_claim("fast_1_compile", *summary.fast_p_compile, basis.timed_compile,
                                  Baseline::compile, basis));
    claims.push_back(mean_claim("geometric_mean_compile_speedup", summary.geometric_mean_compile_speedup,
                                basis.timed_compile, Baseline::compile, basis));
  }
  std::string about = about_words(index, summary, basis, source);
  for (Claim& claim : claims) {
    claim.source = source;
    claim.text.insert(0, about);
  }
  return claims;
}

json::array to_json(const std::vector<Claim>& claims) {
  json::array list;
  for (const Claim& claim : claims)
    list.push_back(json::object{{"source", claim.source ? json::value(*claim.source) : json::value()},
                                {"figure", claim.figure},
                                {"value", value_or_null(claim.value)},
                                {"low", value_or_null(claim.low)},
                                {"high", value_or_null(claim.high)},
                                {"text", claim.text}});
  return list;
}

}  // namespace kw::report
