#include "score/report/measure.h"

#include <algorithm>
#include <map>

#include "dataset/extract/harvest.h"
#include "score/checks/idioms.h"
#include "score/metrics/intervals.h"
#include "score/report/holes.h"
#include "score/report/static_checks.h"

namespace kw::scoring {
namespace {

StaticFacts facts_of(const score::Idioms& idioms) {
  StaticFacts facts;
  facts.parses = idioms.parses;
  facts.has_jit = idioms.has_jit;
  facts.is_launched = idioms.is_launched;
  facts.loads = idioms.loads;
  facts.masked_loads = idioms.masked_loads;
  facts.stores = idioms.stores;
  facts.masked_stores = idioms.masked_stores;
  facts.boundary_checks = idioms.boundary_checks;
  facts.constexpr_blocks = idioms.constexpr_blocks;
  facts.native_code = idioms.native_code;
  facts.forbidden = idioms.forbidden.size();
  facts.torch_work = idioms.torch_work.size();
  if (idioms.disguise != score::Disguise::none) facts.disguise = to_string(idioms.disguise);
  facts.why_disguised = idioms.why_disguised;
  facts.is_good = idioms.is_good;
  set_checks(idioms.checks, facts);
  return facts;
}

std::optional<StaticFacts> check_code(const Output& output) {
  // A complete answer has a task; the continuation of a prompt is a part.
  score::IdiomOptions options;
  options.is_whole_answer = output.record.verdict.by != JudgedBy::nobody || output.job.has_value();
  return facts_of(score::find_idioms(output.code, options));
}

int rank(score::Standing standing) {
  if (standing == score::Standing::right) return 2;
  return standing == score::Standing::wrong ? 1 : 0;
}

bool is_as_good(const VerdictFacts& later, const VerdictFacts& earlier) {
  if (rank(later.standing) != rank(earlier.standing)) return rank(later.standing) > rank(earlier.standing);
  return later.speedup.value_or(0) >= earlier.speedup.value_or(0);
}

}  // namespace

void measure(std::span<Output> outputs) {
  for (Output& output : outputs) {
    if (!output.record.is_scored) continue;
    output.record.idioms = output.hole ? check_hole(output) : check_code(output);
    if (!output.has_reference) continue;
    output.overlap = score::overlap(output.reference, output.code);
    output.record.overlap = OverlapFacts{output.overlap->exact, output.overlap->exact_tokens,
                                         output.overlap->exact_renamed, output.overlap->bleu};
  }
}

void choose_turns(std::span<Output> outputs) {
  std::map<std::string, Output*> best;
  for (Output& output : outputs) {
    if (output.conversation.empty()) continue;
    auto [place, is_new] = best.try_emplace(output.conversation, &output);
    if (is_new) continue;
    bool better = is_as_good(output.record.verdict, place->second->record.verdict);
    (better ? place->second : &output)->record.is_scored = false;
    if (better) place->second = &output;
  }
}

std::size_t most_turns(std::span<const Output> outputs) {
  std::map<std::string, std::size_t> turns;
  std::size_t most = 1;
  for (const Output& output : outputs)
    if (!output.conversation.empty()) most = std::max(most, ++turns[output.conversation]);
  return most;
}

namespace {

using corpus::CompileLabel;

// Each output is a file of a separate origin, so that it cannot use another output's helpers.
std::vector<corpus::Unit> kernels_of(const Output& output) {
  corpus::SourceFile file;
  file.origin.name = output.record.target;
  file.path = "answer.py";
  file.bytes = output.code;
  auto parsed = harvest::parse(std::move(file), harvest::Language::python, {});
  if (!parsed.file) return {};
  std::vector<corpus::Unit> units = harvest::link({parsed.file});
  std::erase_if(units, [](const corpus::Unit& unit) { return unit.kind != corpus::UnitKind::triton; });
  return units;
}

// Whether the answer's kernels could be found in a right answer.
bool can_compile(const Output& output) {
  return !output.hole || kernels_with_hole(output).has_value();
}

// The kernels to compile; sets the label of an output without one.
std::vector<corpus::Unit> take_kernels(Output& output) {
  if (!output.hole) {
    std::vector<corpus::Unit> found = kernels_of(output);
    if (found.empty()) output.record.compile = "no_kernel";
    return found;
  }
  FilledKernels filled = kernels_with_hole(output).value_or(FilledKernels());
  if (filled.kernels.empty()) output.record.compile = to_string(CompileLabel::fails);
  output.record.compile_reason = std::move(filled.why_not);
  return std::move(filled.kernels);
}

std::vector<std::size_t> drawn(std::span<Output> outputs, std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].record.is_scored && !outputs[i].code.empty() && can_compile(outputs[i]))
      numbers.push_back(i);
  score::Generator(seed).shuffle(numbers);
  if (numbers.size() > count) numbers.resize(count);
  return numbers;
}

int severity(CompileLabel label) {
  if (label == CompileLabel::fails) return 3;
  if (label == CompileLabel::signature_unknown) return 2;
  return label == CompileLabel::not_tried ? 1 : 0;
}

void take_worse(ScoredAnswer& record, const corpus::Labels& labels, int& worst) {
  if (severity(labels.compile) < worst) return;
  worst = severity(labels.compile);
  record.compile = to_string(labels.compile);
  record.compile_reason = labels.compile_reason;
}

}  // namespace

Result<> spot_compile(std::span<Output> outputs, std::size_t count, std::uint64_t seed,
                      const labels::CompileOptions& options) {
  std::vector<corpus::Unit> units;
  std::vector<std::size_t> owners;
  for (std::size_t number : drawn(outputs, count, seed)) {
    for (corpus::Unit& unit : take_kernels(outputs[number])) {
      units.push_back(std::move(unit));
      owners.push_back(number);
    }
  }
  if (units.empty()) return {};
  auto labelled = labels::compile_labels(units, options);
  if (!labelled) return std::unexpected(labelled.error());
  std::vector<int> worst(outputs.size(), 0);
  for (std::size_t i = 0; i < units.size(); ++i)
    take_worse(outputs[owners[i]].record, (*labelled)[i], worst[owners[i]]);
  return {};
}

}  // namespace kw::scoring
