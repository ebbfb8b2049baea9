#include "scoring/measure.h"

#include <map>

#include "score/idioms.h"

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
  return facts;
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
    // A whole answer has a task; what continues a prompt is a piece.
    score::IdiomOptions options;
    options.is_whole_answer = output.record.verdict.by != JudgedBy::nobody || output.job.has_value();
    if (output.record.kind != "fim")
      output.record.idioms = facts_of(score::find_idioms(output.code, options));
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

}  // namespace kw::scoring
