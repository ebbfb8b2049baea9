// The limitations that the card of a data set states, derived from the set itself.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/core/counted.h"
#include "dataset/build/reports.h"
#include "dataset/licence/licence.h"
#include "types/card.h"

namespace kw::dataset {
namespace {

std::string languages(const BuildSummary& facts) {
  return fmt::format(
      "**Languages**: the code is Triton, CUDA and PyTorch as its sources have it (units found: {}). "
      "Comments "
      "have the languages of the sources; the sentences that the program wrote into prompts are English.",
      in_words(facts.units));
}

std::string verdicts(const RowFacts& rows) {
  std::uint64_t judged = sum(rows.verdicts);
  if (judged == 0)
    return "**Verdicts**: no row has a verdict. No completion was run or compared with a reference.";
  std::uint64_t interpreted = count_of(rows.verdicts, "interpreter");
  std::uint64_t on_gpu = count_of(rows.verdicts, "replay") + count_of(rows.verdicts, "in_process");
  std::string text = fmt::format(
      "**Verdicts**: {} of {} ({}) have a verdict, {} of them from Triton's interpreter on a CPU and {} from "
      "a GPU.",
      grouped(judged), counted(rows.rows, "row"), percent(judged, rows.rows), grouped(interpreted),
      grouped(on_gpu));
  if (interpreted > 0) text += " The interpreter measures no speed and finds no race of a GPU.";
  if (judged < rows.rows) text += " The completions of the other rows were not run.";
  return text;
}

std::string compilation(const RowFacts& rows) {
  std::uint64_t kernels = sum(rows.compile);
  std::uint64_t tried = kernels - count_of(rows.compile, "not_tried");
  return fmt::format(
      "**Compilation**: of {} with rows, {} were compiled; {} compile, {} fail, and of {} the signature is "
      "unknown. A kernel that compiles may compute a wrong result.",
      counted(kernels, "kernel"), grouped(tried), grouped(count_of(rows.compile, "compilable")),
      grouped(count_of(rows.compile, "fails")), grouped(count_of(rows.compile, "signature_unknown")));
}

std::string balance(const RowFacts& rows) {
  auto largest = std::ranges::max_element(rows.sources, {}, &Counts::value_type::second);
  if (largest == rows.sources.end()) return {};
  std::string text = fmt::format("**Balance**: {} has {} of the rows", table_cell(largest->first),
                                 percent(largest->second, rows.rows));
  text += fmt::format(", the largest share of {}. The operations are those that the sources implement.",
                      counted(rows.sources.size(), "source"));
  if (count_of(rows.kinds, "fim") > 0)
    text += " Several rows of the kind `fim` cut holes of one function, so rows are not independent.";
  return text;
}

std::string pairs(const RowFacts& rows) {
  std::uint64_t pairs = count_of(rows.kinds, "cu2triton") + count_of(rows.kinds, "torch2triton");
  if (pairs == 0) return {};
  const std::uint64_t judged = rows.judged_pairs + rows.half_judged_pairs;
  const std::uint64_t matched = pairs - std::min(pairs, judged);
  std::string text = "**Pairs**:";
  if (rows.judged_pairs > 0)
    text +=
        fmt::format(" the verifier ran both sides of {} on equal inputs.", counted(rows.judged_pairs, "row"));
  if (rows.half_judged_pairs > 0)
    text += fmt::format(
        " {} CUDA side of {} was not run; the verifier ran the Triton side against a PyTorch "
        "reference.",
        rows.judged_pairs > 0 ? "The" : "the", counted(rows.half_judged_pairs, "row"));
  if (matched > 0)
    text += fmt::format(
        " {} two sides of {} were matched by names, parameters and operations, or by hand. They were not run "
        "against each other.",
        judged > 0 ? "The" : "the", counted(matched, "row"));
  return text;
}

std::string leakage_checked(const BuildSummary& facts) {
  if (facts.benchmarks.empty())
    return "**Leakage**: no benchmark was given, so no row was compared with one. Copies of benchmark tasks "
           "may "
           "be among the rows.";
  return fmt::format(
      "**Leakage**: copies of benchmark tasks are found by equal runs of words; a reworded task is not "
      "found. "
      "{} flagged.",
      facts.rows.leaks.empty() ? "No row is" : "The rows above are");
}

std::string licences(const RowFacts& rows) {
  std::string text = "**Licences**: a program read them from files and metadata.";
  if (std::uint64_t unknown = count_of(rows.licences, "unknown"); unknown > 0)
    text += fmt::format(" The licence of {} is unknown.", counted(unknown, "row"));
  for (const std::string& restriction : restrictions(rows.licences))
    text += fmt::format(" {}.", table_cell(restriction));
  return text;
}

}  // namespace

std::vector<std::string> restrictions(const Counts& licences) {
  std::set<std::string> all;
  for (const auto& [spdx, count] : licences)
    for (std::string& restriction : licence::restrictions_in(spdx)) all.insert(std::move(restriction));
  return {all.begin(), all.end()};
}

std::string limitations(const BuildSummary& facts) {
  std::string text = "\n## Limitations\n\n";
  for (const std::string& statement :
       {languages(facts), verdicts(facts.rows), compilation(facts.rows), balance(facts.rows),
        pairs(facts.rows), leakage_checked(facts), licences(facts.rows)})
    if (!statement.empty()) text += fmt::format("- {}\n", statement);
  return text;
}

}  // namespace kw::dataset
