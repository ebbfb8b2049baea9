#include "schema/verdict.h"

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
  return verdict.trust && rank(*verdict.trust) >= rank(least) ? verdict.speedup : std::nullopt;
}

}  // namespace kw
