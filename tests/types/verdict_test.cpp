#include "types/verdict.h"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "base/core/files.h"
#include "base/core/json.h"
#include "support/home.h"
#include "types/evidence_world.h"

namespace kw {
namespace {

namespace json = boost::json;

Verdict correct() {
  Verdict v;
  v.id = "row";
  v.task_id = "sample/rowsum";
  v.candidate_sha256 = std::string(64, 'a');
  v.status = Status::correct;
  v.stage = Stage::done;
  v.counts = true;
  v.timing.why_null = "no GPU";
  return v;
}

Verdict fast(double speedup) {
  Verdict v = correct();
  v.speedup = speedup;
  v.timing.why_null.reset();
  v.timing.instrument = "cuda-events";
  return v;
}

Verdict wrong() {
  Verdict v = correct();
  v.status = Status::incorrect;
  v.stage = Stage::judge;
  v.counts.reset();
  v.fault = Fault::kernel;
  v.error = "values differ";
  v.error_class = ErrorClass::wrong_value;
  v.comparison.emplace();
  v.comparison->tolerance.name = "kernelbench";
  v.comparison->max_abs_error = std::numeric_limits<double>::infinity();
  v.comparison->first_mismatch = {"output", {0, 3}, 1.5, std::numeric_limits<double>::quiet_NaN()};
  return v;
}

Verdict full() {
  Verdict v = fast(2.0);
  v.sample_number = 3;
  v.work = std::string(64, 'b');
  v.kernel_name = "k";
  v.shapes = Shapes::given;
  v.trust = Trust::in_process;
  v.reference_time_ms = 2.0;
  v.kernel_time_ms = 1.0;
  v.isolation = Isolation{IsolationLevel::partial, {"pid", "net"}};
  v.comparison.emplace();
  v.comparison->tolerance = {"custom", 1e-3, 1e-4};
  v.comparison->error_ratio = 2.5;
  v.comparison->error_ratios = {{.output = "output[0]", .unit = 2e-7, .error_ratio = 2.5},
                                {.output = "output[1]", .why_null = NoErrorRatio::exact}};
  v.timing.kernel_samples_ms = {1.0, 1.1};
  v.timing.kernel_interval_ms = Interval(0.9, 1.1);
  v.timing.floor_ms = 0.0013;
  v.timing.clocks = Clocks{1980.0, {}, {}};
  v.timing.segments = Segments{{1.25, 0.5, 2.5}, {0.75, 0.0, {}}};
  v.launches = {Launch{"k", "candidate", "ab", {4, 1, 1}, {128, 1, 1}, 32, 0, 1024, 0.5}};
  v.call = Call{"ModelNew", "module", {"x=input:0"}, "constructed", {"float32"}};
  v.environment = {"H200", "580", "13.0", "2.11.0", "3.6.0", "0.1.0", "0123456789abcdef"};
  v.stages_ms = {{Stage::prepare, 12.5}, {Stage::static_, 0.5}};
  return v;
}

TEST(Verdict, SchemaComesFirst) {
  EXPECT_EQ(to_json(correct()).begin()->key(), "schema");
}

TEST(Verdict, EveryFieldIsPresentWhereNothingApplies) {
  EXPECT_EQ(to_json(Verdict{}).size(), to_json(full()).size());
}

// A verdict in the format of the first contract.
TEST(Verdict, ItsBytesAreTheContracts) {
  Verdict bad = wrong();
  bad.error_detail = ErrorDetail{"k.py", 3, "text", {}};
  bad.comparison->first_mismatch->expected = -std::numeric_limits<double>::infinity();
  Verdict replayed = full();
  replayed.replay = ReplayFacts{2, 7, 1, 0, 0, 1, {}};
  replayed.triton_share = 1;
  replayed.device_time_share = DeviceTimeShare{.triton = 0.75, .library = 0.25};
  replayed.timing.reference_samples_ms = {3, 1, 2};
  replayed.further["new"] = 1;
  std::string lines;
  for (const Verdict& v : {Verdict{}, bad, full(), replayed}) {
    lines += json::serialize(to_json(v)) + "\n";
  }
  EXPECT_EQ(lines, read_file(source_file("tests/types/verdicts.expected.jsonl")).value());
}

TEST(Verdict, AFieldOfAnotherFormIsAsIfItWereNotThere) {
  json::object object = to_json(full());
  object["speedup"] = "fast";
  object["trust"] = "blind";
  object["isolation"].as_object().erase("level");
  object["timing"].as_object()["kernel_samples_ms"] = json::array{1.5, "x", nullptr};
  object["launches"] = json::array{1, object.at("launches").at(0)};
  auto back = verdict_from_json(object);
  ASSERT_TRUE(back);
  EXPECT_FALSE(back->speedup);
  EXPECT_FALSE(back->trust);
  EXPECT_FALSE(back->isolation);
  EXPECT_EQ(back->timing.kernel_samples_ms, (std::vector<double>{1.5}));
  EXPECT_EQ(back->launches->size(), 1U);
}

TEST(Verdict, CorrectnessIsNullWhereNothingWasJudged) {
  Verdict v;
  v.status = Status::skipped;
  EXPECT_EQ(correctness(v), std::nullopt);
}

TEST(Verdict, AFailedOneIsNotCorrect) {
  Verdict v;
  v.status = Status::failed;
  EXPECT_EQ(correctness(v), false);
}

TEST(Verdict, AClaimedSpeedIsGivenOnRequestOnly) {
  Verdict v;
  v.trust = Trust::in_process;
  v.reference_time_ms = 3;
  v.kernel_time_ms = 2;
  EXPECT_EQ(speedup_trusted(v, Trust::in_process), 1.5);
  EXPECT_FALSE(speedup_trusted(v, Trust::replay));
  v.trust = Trust::replay;  // it has times and no speed-up: they were refused
  EXPECT_FALSE(speedup_trusted(v, Trust::replay));
  v.speedup = 1.5;
  EXPECT_EQ(speedup_trusted(v, Trust::replay), 1.5);
}

TEST(Verdict, Fast1LeavesOutExactlyOne) {
  EXPECT_EQ(fast_1(fast(1.0)), false);
}
TEST(Verdict, Fast2TakesInExactlyTwo) {
  EXPECT_EQ(fast_2(fast(2.0)), true);
}
TEST(Verdict, FastIsNullWhereSpeedIsUnknown) {
  EXPECT_EQ(fast_1(correct()), std::nullopt);
}
TEST(Verdict, FastIsFalseWhereTheResultIsWrong) {
  EXPECT_EQ(fast_1(wrong()), false);
}

TEST(Verdict, WhatIsNoNumberIsNull) {
  EXPECT_TRUE(to_json(wrong()).at("comparison").at("max_abs_error").is_null());
}

TEST(Verdict, AMismatchNamesWhatIsNoNumber) {
  EXPECT_EQ(to_json(wrong()).at("comparison").at("first_mismatch").at("actual"), "nan");
}

TEST(Verdict, OnlyACountingOneCounts) {
  Verdict v = correct();
  EXPECT_TRUE(correct_and_counts(v));
  v.counts = false;
  EXPECT_FALSE(correct_and_counts(v));
  EXPECT_FALSE(correct_and_counts(wrong()));
}

TEST(Verdict, ComesBackFromItsJson) {
  for (const Verdict& v : {correct(), wrong(), full()}) {
    auto back = verdict_from_json(to_json(v));
    ASSERT_TRUE(back) << back.error().what;
    EXPECT_EQ(json::serialize(to_json(*back)), json::serialize(to_json(v)));
  }
}

TEST(Verdict, ANumberWithoutAFractionComesBackFromText) {
  auto value = parse_json(json::serialize(to_json(full())));
  ASSERT_TRUE(value);
  auto back = verdict_from_json(value->get_object());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->speedup, 2.0);
  EXPECT_EQ(back->launches->front().grid, (std::vector<std::uint64_t>{4, 1, 1}));
}

TEST(Verdict, ForeignJsonIsAnError) {
  EXPECT_FALSE(verdict_from_json({{"prompt", "x"}}));
}

// The schema is JSON Schema, for which the Python tests have a validator: this writes to_json's output for
// them.
TEST(Verdict, IsHeldToItsSchema) {
  if (!python_has("jsonschema")) GTEST_SKIP() << "no jsonschema in " << test_python();
  Verdict skipped;
  skipped.task_id = "sample/rowsum";
  skipped.candidate_sha256 = std::string(64, 'a');
  skipped.status = Status::skipped;
  skipped.error = "too large";
  skipped.error_class = ErrorClass::too_large;
  skipped.timing.why_null = "not run";
  Verdict recorded = wrong();
  recorded.evidence = evidence_world::full_record();
  json::array all;
  for (const Verdict& v : {correct(), wrong(), full(), skipped, recorded}) all.push_back(to_json(v));
  std::string path = testing::TempDir() + "kw-verdicts.json";
  ASSERT_TRUE(write_file(path, json::serialize(all)));
  std::string check =
      "import json, sys, jsonschema\n"
      "schema = jsonschema.Draft202012Validator(json.load(open(sys.argv[1])))\n"
      "bad = [e.json_path + \": \" + e.message for v in json.load(open(sys.argv[2])) "
      "for e in schema.iter_errors(v)]\n"
      "sys.exit(\"\\n\".join(bad) or 0)";
  std::string command =
      "\"" + test_python() + "\" -c '" + check + "' " + source_file("docs/verdict.schema.json") + " " + path;
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace kw
