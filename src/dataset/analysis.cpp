#include <fmt/format.h>

#include "corpus/names.h"
#include "dataset/analysis_words.h"
#include "schema/card.h"

namespace kw::dataset {
namespace {

std::string head(const Facts& facts) {
  return fmt::format(
      "# What is in this data set\n\n{} rows ({}) from {} sources; {} for training, {} for validation. Made "
      "by "
      "Kernelwright {}.\n",
      grouped(facts.rows.rows), in_words(facts.rows.kinds), facts.sources.size(),
      grouped(count_of(facts.rows.splits, "train")), grouped(count_of(facts.rows.splits, "validation")),
      table_cell(facts.program));
}

std::string warnings(const Facts& facts) {
  if (facts.warnings.empty()) return {};
  std::string text = "\n## Warnings\n\n";
  for (const std::string& warning : facts.warnings) text += "- " + table_cell(warning) + "\n";
  return text;
}

std::string sources(const Facts& facts) {
  Table table{.heads = {"source", "kind", "files taken", "of", "units", "left out for licence", "rows"}};
  for (const SourceFacts& source : facts.sources) {
    std::string name = source_name(source.origin);
    table.rows.push_back({table_cell(name), std::string(corpus::to_string(source.origin.kind)),
                          grouped(source.tally.files_taken), grouped(source.tally.files_seen),
                          grouped(sum(source.units)), grouped(sum(source.licence_refused)),
                          grouped(count_of(facts.rows.sources, name))});
  }
  return "\n## Sources\n" + markdown(table) +
         fmt::format("\nUnits found: {}. More on each source: PROVENANCE.md.\n", in_words(facts.units));
}

std::string rows(const Facts& facts) {
  const RowFacts& rows = facts.rows;
  return "\n## Rows\n" + shares("kind", rows.kinds, rows.rows) + shares("hole", rows.nodes, rows.rows) +
         shares("rendering", rows.renderings, rows.rows) + shares("licence", rows.licences, rows.rows) +
         shares("source", rows.sources, rows.rows) + shares("split", rows.splits, rows.rows);
}

std::string pairs(const Facts& facts) {
  return fmt::format(
      "\n## Pairs\n\n{} pairs of a CUDA function and its Triton rewrite were found and written; {} more were "
      "seen, with less evidence than was asked for. {} pairs of a PyTorch module and Triton.\n",
      grouped(facts.cuda_pairs), grouped(facts.cuda_pairs_weak), grouped(facts.torch_pairs));
}

std::string duplicates(const Facts& facts) {
  const DuplicateFacts& d = facts.duplicates;
  std::uint64_t all = sum(facts.units);
  Table table{.heads = {"units left out", "count", "share of all found"}};
  table.rows = {
      {"the same text", grouped(d.exact_units), percent(d.exact_units, all)},
      {"the same but for names and layout", grouped(d.renamed_units), percent(d.renamed_units, all)},
      {"near duplicates", grouped(d.near_units), percent(d.near_units, all)}};
  return "\n## Duplicates\n" + markdown(table) +
         fmt::format(
             "\n{} clusters, the largest of {}. Near duplicates: {} candidate pairs, {} verified by the "
             "exact "
             "Jaccard index, {} at or over the threshold. {} rows were left out since another has the same "
             "text.\n",
             grouped(d.clusters), grouped(d.largest_cluster), grouped(d.candidates), grouped(d.verified),
             grouped(d.over), grouped(d.exact_rows));
}

std::string leakage(const Facts& facts) {
  std::string text = "\n## Leakage\n";
  if (facts.rows.leaks.empty())
    text +=
        "\nNo row resembles a benchmark, another row, the other split or its own prompt more than allowed.\n";
  else
    text += "\nFlagged for review, with spans in the metadata; a row may have several flags.\n" +
            shares("resembles", facts.rows.leaks, facts.rows.rows);
  if (!facts.rows.review.empty())
    text += fmt::format("\nDecisions of the review that were honoured: {}.\n", in_words(facts.rows.review));
  return text;
}

// Of the kernels with rows; where nobody counted those, of all kept.
std::string labels(const Facts& facts) {
  const Counts& compile = facts.rows.compile.empty() ? facts.units_compile : facts.rows.compile;
  std::uint64_t kernels = sum(compile);
  std::uint64_t tried = kernels - count_of(compile, "not_tried");
  std::uint64_t unknown = count_of(compile, "signature_unknown");
  std::string text = fmt::format(
      "\n## Labels\n\nOf {} kernels with rows {} were tried with the compiler. Of {} of them ({}) the "
      "signature is not known, which says nothing about the kernel.\n",
      grouped(kernels), grouped(tried), grouped(unknown), percent(unknown, tried));
  Table table{.heads = {"compile", "kernels", "share of those tried"}};
  for (const char* name : {"compilable", "fails", "signature_unknown"})
    table.rows.push_back({name, grouped(count_of(compile, name)), percent(count_of(compile, name), tried)});
  text += markdown(table);
  if (!facts.compile_reasons.empty())
    text += fmt::format("\nThe most frequent reasons: {}.\n", in_words(facts.compile_reasons, 10));
  return text + shares("what kernels do", facts.rows.labels, facts.rows.rows);
}

// Quantiles are known to their bucket.
std::string range(const Histogram& histogram, double share) {
  std::uint64_t low = histogram.quantile(share);
  std::uint64_t high = low == 0 ? 1 : low + (low - 1);
  low = std::max(low, histogram.least);
  high = std::min(high, histogram.most);
  return low >= high ? grouped(low) : fmt::format("{}–{}", grouped(low), grouped(high));
}

std::string lengths(const Facts& facts) {
  Table table{.heads = {"", "least", "10%", "median", "90%", "99%", "most", "mean"}};
  auto add = [&](const char* name, const Histogram& h) {
    if (h.count == 0) return;
    table.rows.push_back({name, grouped(h.least), range(h, 0.1), range(h, 0.5), range(h, 0.9), range(h, 0.99),
                          grouped(h.most), grouped(h.sum / h.count)});
  };
  add("prompt, characters", facts.rows.prompt_characters);
  add("completion, characters", facts.rows.completion_characters);
  add("prompt and completion, tokens", facts.rows.tokens);
  std::string text = "\n## Lengths\n" + markdown(table);
  if (!facts.tokenizer.empty()) return text + fmt::format("\nTokens of {}.\n", table_cell(facts.tokenizer));
  return text + fmt::format("\nTokens were not counted: {}.\n", facts.tokens_why_null.empty()
                                                                    ? "not asked for"
                                                                    : table_cell(facts.tokens_why_null));
}

std::string made(const Facts& facts) {
  std::string text = "\n## How it was made\n";
  if (!facts.made_by.empty()) text += fmt::format("\n`{}`\n", table_cell(facts.made_by));
  Table table{.heads = {"parameter", "value"}, .all_text = true};
  for (const auto& member : facts.parameters)
    table.rows.push_back({table_cell(member.key()), table_cell(readable(member.value()))});
  return text + markdown(table) + "\nPictures: figs/.\n";
}

}  // namespace

std::string analysis_markdown(const Facts& facts) {
  return head(facts) + warnings(facts) + sources(facts) + rows(facts) + pairs(facts) + duplicates(facts) +
         leakage(facts) + labels(facts) + lengths(facts) + made(facts);
}

}  // namespace kw::dataset
