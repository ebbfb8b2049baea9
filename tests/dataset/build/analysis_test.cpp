#include <gmock/gmock.h>

#include "dataset/build/reports.h"
#include "facts_world.h"

namespace kw::dataset {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Words, AShareOfNothingIsZero) {
  EXPECT_EQ(percent(0, 0), "0%");
  EXPECT_EQ(percent(1, 0), "0%");
  EXPECT_EQ(percent(1, 8), "12.5%");
  EXPECT_EQ(percent(1, 10'000), "&lt;0.1%");
}

TEST(Words, TheMostFrequentStandFirstAndTheRestIsOneEntry) {
  Counts counts{{"a", 1}, {"b", 5}, {"c", 1}, {"d", 1}, {"e", 0}};
  EXPECT_EQ(in_words(counts, 2), "5 b, 1 a, 2 2 others");
  EXPECT_EQ(in_words(counts, 3), "5 b, 1 a, 1 c, 1 d");
  EXPECT_EQ(in_words({}), "none");
}

TEST(Analysis, SaysWhatThereIsInItsFirstLines) {
  std::string text = analysis_markdown(small_facts());
  EXPECT_THAT(text.substr(0, 300),
              HasSubstr("1 row (1 fim) from 1 source; 1 for training, 0 for validation"));
  EXPECT_THAT(text, HasSubstr("| kernels 1.2 | wheel | 7 | 12,345 | 8 | 4 | 0 | 1 |"));
}

TEST(Analysis, WarningsStandBeforeTheTables) {
  BuildSummary facts = small_facts();
  EXPECT_THAT(analysis_markdown(facts), Not(HasSubstr("## Warnings")));
  facts.warnings = {"no figures: matplotlib is missing"};
  std::string text = analysis_markdown(facts);
  EXPECT_LT(text.find("no figures"), text.find("## Sources"));
}

TEST(Analysis, TheShareOfUnknownSignaturesIsOfThoseTried) {
  BuildSummary facts = small_facts();
  facts.rows.compile = {{"compilable", 6}, {"signature_unknown", 2}, {"not_tried", 92}};
  std::string text = analysis_markdown(facts);
  EXPECT_THAT(
      text,
      HasSubstr(
          "Of 100 kernels with rows, 8 were compiled. For 2 of these (25.0%) the signature is unknown"));
}

TEST(Analysis, DuplicatesAreSharesOfAllUnits) {
  EXPECT_THAT(analysis_markdown(small_facts()), HasSubstr("| near duplicates | 2 | 25.0% |"));
}

TEST(Analysis, CountsHaveTheirPlural) {
  BuildSummary facts = small_facts();
  facts.torch_pairs = 1;
  facts.cuda_pairs = 2;
  EXPECT_THAT(analysis_markdown(facts),
              HasSubstr("Written: 2 pairs of a CUDA function and its Triton rewrite, "
                        "and 1 pair of a PyTorch module"));
}

TEST(Analysis, NamesTheChartsOnlyWhereTheyAreDrawn) {
  BuildSummary facts = small_facts();
  EXPECT_THAT(analysis_markdown(facts), Not(HasSubstr("figs/")));
  facts.has_figures = true;
  EXPECT_THAT(analysis_markdown(facts), HasSubstr("Charts: figs/."));
}

TEST(Analysis, QuantilesAreRangesWithinLeastAndMost) {
  BuildSummary facts = small_facts();
  facts.rows.tokens = {};
  for (std::uint64_t value : {700U, 900U, 5'000U}) facts.rows.tokens.add(value);
  std::string text = analysis_markdown(facts);
  EXPECT_THAT(text,
              HasSubstr("| prompt and completion, tokens | 700 | 700–1,023 | 700–1,023 | 4,096–5,000 |"));
}

TEST(Analysis, TokensThatWereNotCountedSayWhy) {
  BuildSummary facts = small_facts();
  facts.tokenizer.clear();
  facts.tokens_why_null = "the tokenizers library is missing";
  EXPECT_THAT(analysis_markdown(facts),
              HasSubstr("Tokens were not counted: the tokenizers library is missing."));
}

TEST(Analysis, HostileNamesStayInTheirCells) {
  BuildSummary facts = small_facts();
  facts.sources[0].origin.name = "a|b\n# head <script> [x](http://y) \xff\x1b[2J";
  std::string text = analysis_markdown(facts) + provenance_markdown(facts);
  EXPECT_THAT(text, Not(HasSubstr("<script")));
  EXPECT_THAT(text, Not(HasSubstr("\n# head")));
  EXPECT_THAT(text, Not(HasSubstr("[x](")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("a\\|b # head"));
}

TEST(Analysis, ManyLicencesEndInOneLine) {
  BuildSummary facts = small_facts();
  for (int i = 0; i < 60; ++i) facts.rows.licences["LicenseRef-" + std::to_string(i)] = 1;
  EXPECT_THAT(analysis_markdown(facts), HasSubstr("| 41 others | 41 |"));
}

TEST(Analysis, OfNothingIsStillWhole) {
  EXPECT_THAT(analysis_markdown({}), HasSubstr("0 rows (none) from 0 sources"));
  EXPECT_THAT(provenance_markdown({}), HasSubstr("0 sources"));
}

TEST(Provenance, NamesTheArchiveAndWhatSaysTheLicence) {
  std::string text = provenance_markdown(small_facts());
  EXPECT_THAT(text, HasSubstr("## kernels 1.2"));
  EXPECT_THAT(text, HasSubstr("- SHA-256 of the archive: " + std::string(64, 'e')));
  EXPECT_THAT(text, HasSubstr("| Apache-2.0 | 3 | 2 SPDX tag, 1 LICENSE |"));
}

TEST(Provenance, HasTheStatedLicenceWithItsEvidence) {
  BuildSummary facts = small_facts();
  add(facts.sources[0], {"", "nothing says"});
  state_licence(facts.sources[0], {"MIT", "--licence-of"});
  std::string text = provenance_markdown(facts);
  EXPECT_THAT(text, HasSubstr("| MIT | 1 | 1 --licence-of |"));
  EXPECT_THAT(text, Not(HasSubstr("| unknown |")));
}

TEST(Provenance, KeepsFilesOfUnknownLicenceWithoutAStatedOne) {
  BuildSummary facts = small_facts();
  add(facts.sources[0], {"", ""});
  state_licence(facts.sources[0], {});
  EXPECT_THAT(provenance_markdown(facts), HasSubstr("| unknown | 1 | 1 no evidence |"));
}

TEST(Provenance, SaysWhatWasLeftOutAndWhy) {
  std::string text = provenance_markdown(small_facts());
  EXPECT_THAT(text, HasSubstr("- files passed over: 2 too large"));
  EXPECT_THAT(text, HasSubstr("- units left out for their licence: 3 unknown, 1 GPL-3.0-only"));
}

BuildSummary checked_facts() {
  BuildSummary facts = small_facts();
  facts.benchmarks = {{.benchmark = {"KernelBench", std::string(64, 'b'), 270}, .found = 3, .written = 2}};
  return facts;
}

TEST(Benchmarks, EveryReportSaysThatNoneWasChecked) {
  const BuildSummary facts = small_facts();
  EXPECT_THAT(analysis_markdown(facts), HasSubstr("Benchmarks: **not checked**"));
  EXPECT_THAT(analysis_markdown(facts), Not(HasSubstr("No row resembles a benchmark")));
  EXPECT_THAT(provenance_markdown(facts), HasSubstr("Benchmarks: **not checked**"));
  EXPECT_THAT(card(facts, {}), HasSubstr("Benchmarks: not checked."));
  EXPECT_THAT(card(facts, {}), HasSubstr("no benchmark was given"));
  EXPECT_THAT(analysis_json(facts), HasSubstr("\"benchmarks\": []"));
}

TEST(Benchmarks, EveryReportNamesThemWithHashTextsAndFinds) {
  const BuildSummary facts = checked_facts();
  const std::string line = "| KernelBench | 270 | 3 | 2 | " + std::string(64, 'b') + " |";
  EXPECT_THAT(analysis_markdown(facts), HasSubstr(line));
  EXPECT_THAT(provenance_markdown(facts), HasSubstr(line));
  EXPECT_THAT(card(facts, {}),
              HasSubstr("KernelBench (270 texts, SHA-256 bbbbbbbbbbbb): 3 rows resemble it"));
  EXPECT_THAT(card(facts, {}), Not(HasSubstr("no benchmark was given")));
  EXPECT_THAT(analysis_json(facts), HasSubstr("\"rows_found\": 3"));
}

TEST(Benchmarks, ARowCountsOnceForEachThatItResembles) {
  std::vector<BenchmarkFacts> benchmarks = compared({{"a", "1", "x"}, {"b", "1", "x"}});
  corpus::Leak leak;
  leak.relation = "benchmark";
  leak.against = "a";
  corpus::Leak other = leak;
  other.relation = "rows";
  other.against = "b";
  add_found(benchmarks, {leak, leak, other});
  EXPECT_EQ(benchmarks[0].found, 1U);
  EXPECT_EQ(benchmarks[1].found, 0U);
}

}  // namespace
}  // namespace kw::dataset
