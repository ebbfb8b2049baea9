#include "dataset/units/row.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

namespace {

using namespace kw::corpus;

Place a_place() {
  Place place;
  place.origin = {OriginKind::wheel, "pack", "1.2", "", std::string(64, 'a'), "", 12};
  place.path = "pack/kernels.py";
  place.block = Block{2, "python", {10, 90}, false};
  place.span = {3, 70};
  return place;
}

Unit a_unit() {
  Unit unit;
  unit.id = "u1";
  unit.kind = UnitKind::triton;
  unit.name = "f";
  unit.source = a_place();
  unit.licence = {"MIT", "LICENSE"};
  unit.text = "@triton.jit\ndef f(x, B: tl.constexpr = 4):\n    pass\n";
  unit.signature_bytes = 42;
  unit.region = unit.text;
  unit.context = "import triton\n";
  unit.context_licences = {"BSD-3-Clause"};
  unit.helpers = {"g"};
  unit.missing = {"h"};
  unit.decorators = {"@triton.jit"};
  unit.parameters = {{"x", "", "", false}, {"B", "tl.constexpr", "4", true}};
  unit.launches = {{"run", "def run(): ...", "(1,)", {{"", "x"}, {"B", "8"}}}};
  unit.calls = {"g", "h"};
  unit.doc = "does";
  return unit;
}

Row a_row() {
  Row row;
  row.id = "r1";
  row.kind = RowKind::cu2triton;
  row.prompt = "p";
  row.completion = "c";
  row.unit = "u1";
  row.source = a_place();
  row.licence = {"MIT", "LICENSE"};
  row.renamed_sha1 = "n1";
  row.cluster = "u1";
  row.leakage = {{"benchmark", "KernelBench", "level1/1.py", 0.5, 0.9, true, "prompt", {{1, 2}, {5, 9}}}};
  row.labels.compile = CompileLabel::signature_unknown;
  row.labels.compile_reason = "why";
  row.labels.compiled_for = {"sm_90"};
  row.labels.atomics = true;
  row.tokens = 17;
  row.split = "validation";
  row.hole = Hole{"call", "spm", {0, 100}, {20, 30}};
  row.pair = PairEvidence{0.75, {"name: f"}, a_place(), {"Apache-2.0", "tag"}};
  row.verdict = {{"correctness", true}};
  return row;
}

TEST(CorpusJson, AUnitComesBackAsItWas) {
  auto object = to_json(a_unit());
  auto unit = unit_from_json(object);
  ASSERT_TRUE(unit);
  EXPECT_EQ(boost::json::serialize(to_json(*unit)), boost::json::serialize(object));
  EXPECT_EQ(unit->launches.at(0).arguments.at(1).text, "8");
  EXPECT_EQ(unit->source.origin.stars, 12);
}

TEST(CorpusJson, ARowComesBackAsItWas) {
  auto object = to_json(a_row());
  auto row = row_from_json(object);
  ASSERT_TRUE(row);
  EXPECT_EQ(boost::json::serialize(to_json(*row)), boost::json::serialize(object));
  EXPECT_EQ(row->leakage.at(0).spans.at(1), (Span{5, 9}));
}

TEST(CorpusJson, WhatDoesNotApplyIsNullAndNeverAbsent) {
  auto object = metadata(Row{});
  for (const char* key : {"hole", "pair", "verdict", "tokens", "duplicate_of", "cluster"})
    EXPECT_TRUE(object.at(key).is_null()) << key;
}

TEST(CorpusJson, MetadataLeaveTheTextsOut) {
  auto object = metadata(a_row());
  EXPECT_FALSE(object.contains("prompt"));
  EXPECT_FALSE(object.contains("completion"));
}

TEST(CorpusJson, AnUnknownKindIsAnError) {
  EXPECT_FALSE(unit_from_json({{"kind", "poem"}}));
  EXPECT_FALSE(row_from_json({}));
}

}  // namespace
