#include "verify/judge/verdict_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/display.h"
#include "base/core/text.h"
#include "verify/judge/devices.h"
#include "verify/judge/error_ratios.h"
#include "verify/judge/statistics.h"
#include "verify/workers/policy.h"

namespace kw::verify {
namespace {

constexpr std::size_t longest_printed = 4096;  // bytes

}  // namespace

VerdictWriter::VerdictWriter(const Job& job, const Settings& settings, const Environment& environment)
    : tolerance_(settings.tolerance.name), keeps_evidence_(settings.evidence), require_(settings.require) {
  verdict_.id = job.id;
  verdict_.task_id = job.task.task_id;
  verdict_.sample_number = job.sample_number;
  verdict_.candidate_sha256 = candidate_sha256(job.candidate.code);
  if (!job.candidate.kernel_name.empty()) verdict_.kernel_name = job.candidate.kernel_name;
  verdict_.environment = environment;
  verdict_.judged_calls = 0;
  verdict_.timing.why_null = "the candidate was not timed";
}

void VerdictWriter::begin(Trust trust) {
  verdict_.trust = trust;
  if (trust == Trust::interpreter) verdict_.timing.why_null = "no GPU: speed is not measured";
}

void VerdictWriter::end(const Ended& ended) {
  const auto* blame = std::get_if<Blame>(&ended);
  if (blame == nullptr) return;
  verdict_.generality.reset();
  verdict_.stage = blame->stage;
  verdict_.status = blame->status;
  verdict_.fault = blame->fault;
  verdict_.error_class = blame->error_class;
  verdict_.error = blame->error;
  if (blame->detail) verdict_.error_detail = blame->detail;
  doubt_ = blame->doubt;
  if (doubt_.empty() && blame->fault == Fault::infrastructure) doubt_ = doubt_about(blame->error);
  if (blame->times_void.empty()) return;
  verdict_.speedup.reset();
  verdict_.reference_time_ms.reset();
  verdict_.kernel_time_ms.reset();
  verdict_.timing.why_null = blame->times_void;
  verdict_.timing.segments.reset();
  verdict_.timing.segments_why_null.reset();
}

void VerdictWriter::take_task(const wire::PreparedT& task) {
  evidence_.take_task(task);
  verdict_.shapes = task.reduced ? Shapes::reduced : Shapes::given;
  if (!task.gradients.empty()) verdict_.gradients = task.gradients;
  verdict_.comparison.emplace();
  verdict_.comparison->tolerance.name = tolerance_;
  verdict_.comparison->error_ratio_why_null = NoErrorRatio::not_compared;
  verdict_.comparison->findings = task.findings;
  verdict_.generality.reset();
  verdict_.judged_calls = 0;
  right_trials_ = rounded_trials_ = 0;
  if (task.reduced) add_finding("shapes reduced to " + task.sizes);
}

void VerdictWriter::take(const Evidence& seen) {
  if (seen.prepared) take_task(*seen.prepared);
  if (seen.loaded)
    verdict_.call =
        Call{seen.loaded->entry, seen.loaded->convention, seen.loaded->arguments, seen.loaded->weights};
  if (seen.launches) verdict_.launches = seen.launches;
  if (seen.generality) verdict_.generality = seen.generality;
  evidence_.take(seen);
  for (const Judgement& each : seen.judgements) take(each);
  if (!seen.why_not_replayed.empty()) {
    verdict_.replay = ReplayFacts{.why_not = seen.why_not_replayed};
    doubt_ = doubt_about(seen.why_not_replayed);
  }
  if (seen.ended) end(*seen.ended);
}

void VerdictWriter::forget_errors() {
  Comparison& comparison = *verdict_.comparison;
  comparison.max_abs_error.reset();
  comparison.max_rel_error.reset();
  comparison.mismatched_share.reset();
  comparison.error_ratio.reset();
  comparison.error_ratios.clear();
  comparison.error_ratio_why_null = NoErrorRatio::not_compared;
}

void VerdictWriter::take_shapes(std::vector<FamilyTrial> trials) {
  if (!verdict_.generality) verdict_.generality = Generality{.why_not = "the inputs were not varied"};
  verdict_.generality->shapes = generality_of(trials);
  verdict_.generality->shape_trials = std::move(trials);
}

void VerdictWriter::take(const Judgement& judgement) {
  Comparison& comparison = *verdict_.comparison;
  const wire::JudgedT& judged = judgement.judged;
  comparison.trials = std::max(comparison.trials, judgement.trials);
  comparison.tolerance.rtol = judged.rtol >= 0 ? std::optional(judged.rtol) : std::nullopt;
  comparison.tolerance.atol = judged.atol >= 0 ? std::optional(judged.atol) : std::nullopt;
  auto worst = [](std::optional<double>& so_far, double now) {
    so_far = std::max(so_far.value_or(now), now);
  };
  worst(comparison.max_abs_error, judged.max_abs_error);
  worst(comparison.max_rel_error, judged.max_rel_error);
  worst(comparison.mismatched_share, judged.mismatched_share);
  take_error_ratios(judged, comparison);
  for (const std::string& finding : judged.findings)
    if (std::ranges::find(comparison.findings, finding) == comparison.findings.end())
      add_finding(to_plain_text(finding));
  if (!judgement.finding.empty()) add_finding(judgement.finding);
  if (judgement.is_of_call()) ++*verdict_.judged_calls;
  if (judgement.trials > 0 && judged.right) {
    ++right_trials_;
    rounded_trials_ += judged.operand_precision.empty() ? 0 : 1;
  }
  if (judged.right || !judged.first_mismatch) return;
  const wire::MismatchT& first = *judged.first_mismatch;
  comparison.first_mismatch = FirstMismatch{first.output, first.index, first.expected, first.actual};
}

void VerdictWriter::take_replays(const wire::ReplayableT& facts, std::size_t recordings) {
  verdict_.trust = Trust::replay;
  verdict_.replay = ReplayFacts{.recordings = recordings,
                                .operations = facts.operations,
                                .streams = facts.streams,
                                .downloads = facts.downloads,
                                .unjoined = facts.unjoined,
                                .orders = 1 + facts.late.size(),
                                .why_not = {}};
}

void VerdictWriter::take(const Times& times, std::uint64_t moved_bytes) {
  Timing& timing = verdict_.timing;
  timing.reference_samples_ms = times.reference_ms;
  timing.kernel_samples_ms = times.kernel_ms;
  timing.floor_ms = times.floor_ms;
  timing.compile_time_ms = times.compiled_ms;
  timing.clocks = times.clocks;
  evidence_.take(times.clock_check);
  take(times.seen);
  for (const std::string& finding : times.findings) add_finding(finding);
  if (times.seen.ended) return;
  timing.instrument = times.instrument;
  if (times.kernel_ms.empty() || times.reference_ms.empty())
    timing.why_null = times.why_none;
  else
    take_times(moved_bytes);
  if (verdict_.gradients && verdict_.speedup) take_segments(times);
}

// Computes the verdict's times from the samples.
void VerdictWriter::take_times(std::uint64_t moved_bytes) {
  Timing& timing = verdict_.timing;
  verdict_.reference_time_ms = midmean(timing.reference_samples_ms);
  verdict_.kernel_time_ms = midmean(timing.kernel_samples_ms);
  timing.reference_interval_ms = midmean_interval(timing.reference_samples_ms);
  timing.kernel_interval_ms = midmean_interval(timing.kernel_samples_ms);
  if (*verdict_.kernel_time_ms <= 0) {
    timing.why_null = "the kernel's time read zero or less";
    return;
  }
  // The candidate's process can falsify its times. speedup_trusted() computes a speed-up from them on
  // request.
  if (verdict_.trust == Trust::in_process) {
    timing.why_null =
        "only the candidate's own process measured its time (trust in-process), and could falsify it";
  } else {
    verdict_.speedup = *verdict_.reference_time_ms / *verdict_.kernel_time_ms;
    timing.why_null.reset();
  }
  auto least_ms = least_traffic_ms(verdict_.environment.gpu.value_or(""), moved_bytes);
  if (!least_ms) return;
  timing.roofline_share = *least_ms / *verdict_.kernel_time_ms;
  if (*timing.roofline_share > 1)
    add_finding(
        "the time is below minimal traffic over peak bandwidth: work was skipped, or inputs lay in the "
        "cache");
}

namespace {

// The time of the whole call, divided in the proportion of its two passes. The samples of the passes do not
// add up to it: each is less the floor of two events, so that their sum is less two floors and the whole less
// one, and the event between them takes time of its own.
std::pair<double, double> divided(double whole_ms, const PassSamples& samples) {
  const double forward_ms = midmean(samples.forward_ms);
  const double backward_ms = midmean(samples.backward_ms);
  const double sum_ms = forward_ms + backward_ms;
  if (sum_ms <= 0) return {0, 0};
  return {whole_ms * forward_ms / sum_ms, whole_ms * backward_ms / sum_ms};
}

}  // namespace

void VerdictWriter::take_segments(const Times& times) {
  Timing& timing = verdict_.timing;
  if (!times.segments) {
    timing.segments_why_null =
        times.why_no_segments.empty() ? "the passes were not timed" : times.why_no_segments;
    return;
  }
  auto segment = [](double reference_ms, double kernel_ms) {
    Segment made{reference_ms, kernel_ms, std::nullopt};
    if (kernel_ms > 0) made.speedup = reference_ms / kernel_ms;
    return made;
  };
  const auto reference = divided(*verdict_.reference_time_ms, times.segments->reference);
  const auto kernel = divided(*verdict_.kernel_time_ms, times.segments->kernel);
  timing.segments =
      Segments{segment(reference.first, kernel.first), segment(reference.second, kernel.second)};
}

void VerdictWriter::take(const Provenance& found) {
  verdict_.launches = found.launches;
  verdict_.triton_share = found.triton_share;
  verdict_.device_time_share = found.device_time_share;
  for (const std::string& finding : found.findings) add_finding(finding);
  evidence_.take(found);
  if (found.ended) end(*found.ended);
}

void VerdictWriter::take_audit(const Evidence& seen) {
  if (seen.ended) return take(seen);
  evidence_.take(seen);
  for (const Judgement& each : seen.judgements) {
    verdict_.comparison->trials = std::max(verdict_.comparison->trials, each.trials);
    if (!each.finding.empty()) add_finding(each.finding);
  }
  *verdict_.judged_calls +=
      static_cast<std::size_t>(std::ranges::count_if(seen.judgements, &Judgement::is_of_call));
  if (seen.call_speedup) verdict_.timing.call_speedup = seen.call_speedup;
}

void VerdictWriter::take_isolation(std::uint32_t layers) {
  auto level = from_string<IsolationLevel>(engine::isolation_level(layers));
  verdict_.isolation = Isolation{level.value_or(IsolationLevel::process), engine::layer_names(layers)};
}

void VerdictWriter::take_printed(std::string_view output) {
  if (!trim(output).empty()) verdict_.printed = tail_of(to_plain_text(output), longest_printed);
}

void VerdictWriter::finish_right(const wire::PreparedT& task, Kernels kernels) {
  verdict_.status = Status::correct;
  verdict_.stage = Stage::done;
  verdict_.fault.reset();
  verdict_.error.reset();
  verdict_.error_class.reset();
  verdict_.error_detail.reset();
  verdict_.comparison->first_mismatch.reset();
  evidence_.forget_mismatch();
  verdict_.counts_reason = why_it_does_not_count(task, kernels);
  verdict_.counts = !verdict_.counts_reason.has_value();
}

std::optional<CountsReason> VerdictWriter::why_it_does_not_count(const wire::PreparedT& task,
                                                                 Kernels kernels) {
  if (!task.proves_nothing.empty()) {
    add_finding("an empty answer passes this task: " + task.proves_nothing);
    return CountsReason::proves_nothing;
  }
  if (task.reference_random) return CountsReason::nondeterministic;
  if (require_ != "any") {
    if (!kernels.are_there) return CountsReason::library_only;
    if (require_ == "triton" && !kernels.are_triton) return CountsReason::not_triton;
    if (kernels.are_decoys) return CountsReason::decoy;
    if (kernels.wrap_reference) return CountsReason::wraps_reference;
  }
  if (right_trials_ > 0 && rounded_trials_ == right_trials_) return CountsReason::precision;
  if (verdict_.generality && specialised_on(*verdict_.generality) != nullptr)
    return CountsReason::specialised;
  return std::nullopt;
}

void VerdictWriter::forgive_at_reduced_shapes() {
  if (verdict_.shapes != Shapes::reduced || !verdict_.error_class ||
      stands_at_reduced_shapes(*verdict_.error_class, *verdict_.error))
    return;
  if (!verdict_.comparison) verdict_.comparison.emplace();
  add_finding(fmt::format("at reduced shapes: {}: {}", to_string(*verdict_.error_class), *verdict_.error));
  verdict_.status = Status::skipped;
  verdict_.fault.reset();
  verdict_.error_class = ErrorClass::too_large;
  verdict_.error =
      "too large to interpret at the given shapes, and not right at reduced ones, which proves nothing";
  verdict_.error_detail.reset();
}

void VerdictWriter::blame_the_task() {
  if (verdict_.fault != Fault::infrastructure) return;
  verdict_.fault = Fault::task;
  verdict_.error_class = ErrorClass::task_invalid;
  verdict_.error = "the reference breaks every process that runs it: " + verdict_.error.value_or("");
}

void VerdictWriter::finish_evidence(const wire::CallSpecT& spec) {
  const bool kept =
      keeps_evidence_ == "all" || (keeps_evidence_ == "failed" && !correct_and_counts(verdict_));
  if (verdict_.call) verdict_.call->input_dtypes = input_dtypes(spec);
  if (kept) verdict_.evidence = std::move(evidence_).finished(spec);
}

}  // namespace kw::verify
