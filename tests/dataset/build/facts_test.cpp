#include <gmock/gmock.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "facts_world.h"

namespace kw::dataset {
namespace {

namespace json = boost::json;

TEST(Histogram, BucketsDoubleAndTheFirstAlsoHoldsZero) {
  Histogram histogram;
  for (std::uint64_t value : {0U, 1U, 2U, 3U, 4U, 1023U, 1024U}) histogram.add(value);
  EXPECT_THAT(histogram.buckets, testing::ElementsAre(2, 2, 1, 0, 0, 0, 0, 0, 0, 1, 1));
  EXPECT_EQ(histogram.count, 7U);
  EXPECT_EQ(histogram.sum, 2057U);
  EXPECT_EQ(histogram.least, 0U);
  EXPECT_EQ(histogram.most, 1024U);
}

TEST(Histogram, TheLargestValueHasABucket) {
  Histogram histogram;
  histogram.add(UINT64_MAX);
  EXPECT_EQ(histogram.buckets.size(), 64U);
  EXPECT_EQ(histogram.quantile(0.5), std::uint64_t{1} << 63);
}

TEST(Histogram, AQuantileIsTheLowerEndOfItsBucket) {
  Histogram histogram;
  for (int i = 0; i < 9; ++i) histogram.add(10);
  histogram.add(5'000);
  EXPECT_EQ(histogram.quantile(0.0), 8U);
  EXPECT_EQ(histogram.quantile(0.5), 8U);
  EXPECT_EQ(histogram.quantile(0.9), 8U);
  EXPECT_EQ(histogram.quantile(0.91), 4'096U);
  EXPECT_EQ(histogram.quantile(1.0), 4'096U);
}

TEST(Histogram, OfNothingEveryQuantileIsZero) {
  EXPECT_EQ(Histogram{}.quantile(0.5), 0U);
}

TEST(RowFacts, LengthsCountCharactersAndNotBytes) {
  RowFacts facts;
  add(facts, hole_row());
  EXPECT_EQ(facts.prompt_characters.sum, 12U);
  EXPECT_EQ(facts.completion_characters.sum, 14U);
}

TEST(RowFacts, RowsOfOneKernelAreOneKernelOfTheCompileLabels) {
  RowFacts facts;
  corpus::Row row = hole_row();
  add(facts, row);
  row.id = "other";
  add(facts, row);
  EXPECT_EQ(facts.rows, 2U);
  EXPECT_THAT(facts.compile, testing::ElementsAre(testing::Pair("compilable", 1)));
  row.unit = "aaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbcccccccc";
  row.labels.compile = corpus::CompileLabel::signature_unknown;
  add(facts, row);
  EXPECT_EQ(facts.compile.at("signature_unknown"), 1U);
}

TEST(RowFacts, ARowIsFlaggedOnceForOneBenchmark) {
  RowFacts facts;
  corpus::Row row = hole_row();
  row.leakage = {{.relation = "benchmark", .against = "KernelBench", .row = "a", .field = "", .spans = {}},
                 {.relation = "benchmark", .against = "KernelBench", .row = "b", .field = "", .spans = {}},
                 {.relation = "prompt_completion", .against = "", .row = "", .field = "", .spans = {}}};
  add(facts, row);
  EXPECT_THAT(facts.leaks, testing::ElementsAre(testing::Pair("benchmark KernelBench", 1),
                                                testing::Pair("prompt_completion", 1)));
}

TEST(RowFacts, WithoutALicenceItIsUnknown) {
  RowFacts facts;
  corpus::Row row = hole_row();
  row.licence = {};
  add(facts, row);
  EXPECT_EQ(facts.licences.at("unknown"), 1U);
}

TEST(RowFacts, APairHasTheLicencesOfBothSidesEachOnce) {
  RowFacts facts;
  corpus::Row row = hole_row();
  row.pair = corpus::PairEvidence{0.9, {}, row.source, {"Apache-2.0 AND BSD-2-Clause AND BSD-2-Clause", "a"}};
  add(facts, row);
  EXPECT_THAT(facts.licences, testing::ElementsAre(testing::Pair("Apache-2.0 AND BSD-2-Clause", 1)));
}

TEST(RowFacts, APairWithOneUnknownLicenceIsUnknown) {
  RowFacts facts;
  corpus::Row row = hole_row();
  row.pair = corpus::PairEvidence{0.9, {}, row.source, {}};
  add(facts, row);
  EXPECT_THAT(facts.licences, testing::ElementsAre(testing::Pair("unknown", 1)));
}

TEST(RowFacts, TokensAreCountedWhereTheyAreKnown) {
  RowFacts facts;
  corpus::Row row = hole_row();
  row.tokens.reset();
  add(facts, row);
  EXPECT_EQ(facts.tokens.count, 0U);
}

TEST(SourceFacts, EvidenceThatDiffersInTheLineIsOneEntry) {
  EXPECT_THAT(small_facts().sources[0].licence_evidence.at("Apache-2.0"),
              testing::ElementsAre(testing::Pair("LICENSE", 1), testing::Pair("SPDX tag", 2)));
}

TEST(SourceName, HasTheVersionOrTheCommit) {
  corpus::Origin origin;
  origin.name = "kernels";
  EXPECT_EQ(source_name(origin), "kernels");
  origin.commit = "0123456789abcdef0123456789abcdef01234567";
  EXPECT_EQ(source_name(origin), "kernels at 0123456789ab");
  origin.version = "1.2";
  EXPECT_EQ(source_name(origin), "kernels 1.2");
}

TEST(FactsJson, OnlyTheTimesDependOnHowTheBuildWent) {
  BuildSummary first = small_facts();
  BuildSummary second = small_facts();
  second.stages[0].seconds = 77;
  second.sources[0].from_state = true;
  EXPECT_NE(times_json(first), times_json(second));
  EXPECT_EQ(analysis_json(first), analysis_json(second));
  EXPECT_EQ(analysis_markdown(first), analysis_markdown(second));
}

void expect_sorted(const json::value& value) {
  if (const auto* array = value.if_array())
    for (const json::value& each : *array) expect_sorted(each);
  if (const auto* object = value.if_object()) {
    json::string_view before;
    for (const auto& member : *object) {
      EXPECT_LT(before, member.key());
      before = member.key();
      expect_sorted(member.value());
    }
  }
}

TEST(FactsJson, KeysAreSortedAtAllDepths) {
  expect_sorted(to_json(small_facts()));
}

TEST(FactsJson, RatesAreMegabytesASecondOfWhatWentIn) {
  json::value times = json::parse(times_json(small_facts()));
  const json::array& stages = times.at("stages").as_array();
  EXPECT_EQ(stages[0].at("mb_per_s"), 2.5);
  EXPECT_TRUE(stages[1].at("mb_per_s").is_null());
}

TEST(FactsJson, NoRowsAtAllIsStillWhole) {
  json::object object = to_json(BuildSummary{});
  EXPECT_TRUE(object.at("rows").at("lengths").at("tokens").at("median").is_null());
  EXPECT_EQ(object.at("rows").at("count").to_number<int>(), 0);
}

TEST(FactsJson, TheTextToReadIsTheSameValue) {
  BuildSummary facts = small_facts();
  facts.sources[0].origin.name = "bad \xff name \"\n";
  std::string text = analysis_json(facts);
  EXPECT_EQ(json::serialize(json::parse(text)), json::serialize(to_json(facts)));
  EXPECT_NE(text.find("\n  \"made_by\": \"dataset build"), std::string::npos);
  EXPECT_NE(text.find("\"threshold\": 0.8\n"), std::string::npos);
}

}  // namespace
}  // namespace kw::dataset
