#include "types/card.h"

#include <gmock/gmock.h>

#include <boost/json/array.hpp>
#include <set>

#include "base/core/files.h"
#include "base/core/json.h"
#include "dataset/units/row.h"
#include "facts_world.h"

namespace kw::dataset {
namespace {

namespace json = boost::json;
using testing::HasSubstr;
using testing::Not;

std::string front_matter(const std::string& card) {
  return card.substr(0, card.find("\n---\n"));
}

TEST(Card, LicencesAreTheHubsWords) {
  EXPECT_EQ(hub_licence("Apache-2.0"), "apache-2.0");
  EXPECT_EQ(hub_licence("GPL-3.0-or-later"), "gpl-3.0");
  EXPECT_EQ(hub_licence("MIT OR Apache-2.0"), "other");
  EXPECT_EQ(hub_licence("LicenseRef-mine"), "other");
  EXPECT_EQ(hub_licence(""), "other");
}

TEST(Card, ListsEachLicenceOnce) {
  BuildSummary facts = small_facts();
  facts.rows.licences = {{"MIT", 2}, {"unknown", 1}, {"MIT AND BSD-3-Clause", 1}, {"Apache-2.0", 5}};
  EXPECT_THAT(front_matter(card(facts, {})),
              HasSubstr("license:\n- \"apache-2.0\"\n- \"bsd-3-clause\"\n- \"mit\"\n- \"other\"\n"));
}

TEST(Card, NamesTheFilesOfEverySplit) {
  std::string text =
      card(small_facts(), {{"fim", {{"train", "data/fim/t.parquet"}, {"validation", "data/fim/v.parquet"}}},
                           {"trace", {{"train", "data/trace/t.parquet"}}}});
  EXPECT_THAT(front_matter(text), HasSubstr("- config_name: \"fim\"\n  data_files:\n  - split: \"train\"\n"
                                            "    path: \"data/fim/t.parquet\"\n  - split: \"validation\"\n"));
  EXPECT_THAT(text, HasSubstr("load_dataset(\"FOLDER\", \"fim\")"));
}

TEST(Card, HasNoConfigsWithoutFiles) {
  EXPECT_THAT(card({}, {}), Not(HasSubstr("configs:")));
  EXPECT_THAT(card({}, {}), HasSubstr("- n<1K\n"));
}

TEST(Card, NamesDoNotEndTheFrontMatter) {
  BuildSummary facts = small_facts();
  facts.rows.licences = {{"MIT\n---\n# other", 1}};
  facts.rows.sources = {{"evil\n---\nlicense: mit", 1}};
  std::string text = card(facts, {});
  EXPECT_THAT(front_matter(text), HasSubstr("license:\n- \"other\"\n"));
  EXPECT_THAT(text.substr(text.find("\n---\n") + 5), Not(HasSubstr("\n---\n")));
}

TEST(Card, FlagsAreASentenceEach) {
  BuildSummary facts = small_facts();
  facts.rows.leaks = {{"rows units of this set", 8},
                      {"split validation", 1'000},
                      {"benchmark KernelBench", 2},
                      {"prompt_completion completion", 1}};
  EXPECT_THAT(card(facts, {}), HasSubstr("- 1,000 rows: similar to the validation split\n"
                                         "- 8 rows: similar to other units of this set\n"
                                         "- 2 rows: similar to the benchmark KernelBench\n"
                                         "- 1 row: prompt and completion are similar\n"));
}

std::string limits_of(const BuildSummary& facts) {
  std::string text = card(facts, {});
  return text.substr(text.find("## Limitations"));
}

TEST(Card, LimitationsCountTheRowsWithAVerdict) {
  BuildSummary facts = small_facts();
  EXPECT_THAT(limits_of(facts), HasSubstr("no row has a verdict"));
  corpus::Row judged = hole_row();
  judged.kind = corpus::RowKind::trace;
  judged.verdict = {{"trust", "interpreter"}};
  add(facts.rows, judged);
  judged.verdict = {{"trust", "replay"}};
  add(facts.rows, judged);
  EXPECT_THAT(limits_of(facts), HasSubstr("2 of 3 rows (66.7%) have a verdict, 1 of them from Triton's "
                                          "interpreter on a CPU and 1 from a GPU."));
}

TEST(Card, LimitationsSpeakOfPairsOnlyWhereThereAreSome) {
  BuildSummary facts = small_facts();
  EXPECT_THAT(limits_of(facts), Not(HasSubstr("**Pairs**")));
  facts.rows.kinds["cu2triton"] = 2;
  EXPECT_THAT(limits_of(facts), HasSubstr("the two sides of 2 rows"));
}

TEST(Card, JudgedPairsAreNotCalledMatched) {
  BuildSummary facts = small_facts();
  facts.rows.kinds["torch2triton"] = 2;
  facts.rows.judged_pairs = 2;
  EXPECT_THAT(limits_of(facts), HasSubstr("the verifier ran both sides of 2 rows"));
  EXPECT_THAT(limits_of(facts), Not(HasSubstr("not run against each other")));
}

TEST(Card, ACudaSideThatWasNotRunIsNamed) {
  BuildSummary facts = small_facts();
  facts.rows.kinds["cu2triton"] = 3;
  corpus::Row row;
  row.pair.emplace();
  row.verdict = {{"trust", "interpreter"}, {"cuda_verified", false}};
  add(facts.rows, row);
  facts.rows.judged_pairs = 2;
  EXPECT_THAT(limits_of(facts),
              HasSubstr("ran both sides of 2 rows on equal inputs. The CUDA side of 1 row was not "
                        "run"));
  EXPECT_THAT(limits_of(facts), Not(HasSubstr("not run against each other")));
}

TEST(Card, LimitationsNameRestrictionsOnUseAndTheLargestSource) {
  BuildSummary facts = small_facts();
  facts.rows.licences = {{"MIT AND LicenseRef-Researcher-Reciprocity", 1}, {"unknown", 2}};
  EXPECT_THAT(limits_of(facts), HasSubstr("LicenseRef-Researcher-Reciprocity restricts training"));
  EXPECT_THAT(limits_of(facts), HasSubstr("The licence of 2 rows is unknown."));
  EXPECT_THAT(limits_of(facts), HasSubstr("kernels 1.2 has 100.0% of the rows"));
}

TEST(Provenance, NamesRestrictionsOnUse) {
  BuildSummary facts = small_facts();
  EXPECT_THAT(provenance_markdown(facts), Not(HasSubstr("Restriction on use")));
  add(facts.sources.front(), {"LicenseRef-Researcher-Reciprocity", "LICENSE"});
  EXPECT_THAT(provenance_markdown(facts),
              HasSubstr("**Restriction on use**: LicenseRef-Researcher-Reciprocity"));
}

TEST(Card, NamesTheChartsOnlyWhereTheyAreDrawn) {
  BuildSummary facts = small_facts();
  EXPECT_THAT(card(facts, {}),
              HasSubstr("See ANALYSIS.md for statistics and PROVENANCE.md for the sources.\n"));
  facts.has_figures = true;
  EXPECT_THAT(card(facts, {}), HasSubstr("PROVENANCE.md for the sources and figs/ for charts.\n"));
}

TEST(Card, SizesAreTheHubsWords) {
  EXPECT_EQ(size_category(999), "n<1K");
  EXPECT_EQ(size_category(1'000), "1K<n<10K");
  EXPECT_EQ(size_category(250'000), "100K<n<1M");
}

// Keys that the schema of rows lacks, or that it requires and no row has, as paths.
void compare(const json::value& value, const json::object& schema, const json::object& whole,
             const std::string& at, std::set<std::string>& wrong) {
  if (auto to = string_at(schema, "$ref")) {
    const json::object& named = whole.at("$defs").at(to->substr(to->rfind('/') + 1)).as_object();
    return compare(value, named, whole, at, wrong);
  }
  if (const auto* choices = schema.if_contains("oneOf"))
    return compare(value, choices->at(1).as_object(), whole, at, wrong);
  if (const auto* array = value.if_array(); array && schema.contains("items"))
    for (const json::value& each : *array)
      compare(each, schema.at("items").as_object(), whole, at + "[]", wrong);
  const auto* object = value.if_object();
  if (!object || !schema.contains("properties")) return;
  const json::object& properties = schema.at("properties").as_object();
  for (const auto& member : properties)
    if (!object->contains(member.key()) && member.key() != "prompt" && member.key() != "completion")
      wrong.insert(at + " lacks " + std::string(member.key()));
  for (const auto& member : *object)
    if (const auto* known = properties.if_contains(member.key()))
      compare(member.value(), known->as_object(), whole, at + "." + std::string(member.key()), wrong);
    else
      wrong.insert(at + " has " + std::string(member.key()));
}

TEST(RowSchema, HasTheFieldsThatRowsHave) {
  corpus::Row row = hole_row();
  row.leakage.push_back(
      {.relation = "split", .against = "train", .row = "x", .field = "prompt", .spans = {{0, 4}}});
  row.source.block = corpus::Block{0, "python", {3, 9}, true};
  row.pair = corpus::PairEvidence{0.9, {"name: add"}, row.source, row.licence};
  row.verdict = {{"status", "correct"}};
  auto schema = parse_json(*read_file(KW_SOURCE_DIR "/docs/dataset_row.schema.json"));
  ASSERT_TRUE(schema);
  std::set<std::string> wrong;
  compare(corpus::metadata(row), schema->as_object(), schema->as_object(), "row", wrong);
  EXPECT_THAT(wrong, testing::IsEmpty());
}

}  // namespace
}  // namespace kw::dataset
