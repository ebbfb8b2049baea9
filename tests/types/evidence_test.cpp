#include "types/evidence.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <limits>

#include "base/core/json.h"
#include "types/evidence_world.h"
#include "types/verdict.h"

namespace kw {
namespace {

namespace json = boost::json;
using namespace evidence_world;

std::string record_text(const EvidenceRecord& record) {
  return json::serialize(written(record));
}

TEST(EvidenceRecord, ComesBackFromItsText) {
  auto value = parse_json(record_text(full_record()));
  ASSERT_TRUE(value);
  EvidenceRecord back;
  ASSERT_TRUE(read(*value, back));
  EXPECT_EQ(record_text(back), record_text(full_record()));
}

TEST(EvidenceRecord, UnknownFactsAreNull) {
  const json::value value = written(EvidenceRecord{});
  EXPECT_EQ(value.at("schema"), "kernelwright.evidence/1");
  for (const char* field : {"moved_bytes", "first_mismatch", "launches", "certificate", "clock_check"})
    EXPECT_TRUE(value.at(field).is_null()) << field;
}

TEST(EvidenceRecord, NumbersThatJsonLacksAreWords) {
  const json::value value = written(full_record());
  EXPECT_EQ(value.at("first_mismatch").at("actual"), "nan");
  EXPECT_EQ(value.at("trials").at(0).at("max_error_over_limit"), "inf");
}

TEST(EvidenceRecord, AnotherSchemaIsNotRead) {
  json::value value = written(full_record());
  value.as_object()["schema"] = "kernelwright.evidence/2";
  EvidenceRecord record;
  EXPECT_FALSE(read(value, record));
  EXPECT_FALSE(read(json::value(nullptr), record));
  EXPECT_FALSE(read(json::value("x"), record));
}

TEST(EvidenceRecord, ASmallOneIsUnchangedByItsBounds) {
  EXPECT_EQ(record_text(bounded(full_record())), record_text(full_record()));
}

TEST(EvidenceRecord, WrongTrialsAreKeptAndTimedOnesGoFirst) {
  EvidenceRecord record;
  for (std::size_t i = 0; i < 20; ++i) record.trials.push_back(a_trial(i, true));
  for (std::size_t i = 20; i < 5000; ++i) record.trials.push_back(a_trial(i, true, TrialPurpose::timing));
  record.trials.push_back(a_trial(5000, false, TrialPurpose::timing));
  record = bounded(std::move(record));
  EXPECT_EQ(record.trials.size() + record.trials_left_out, 5001U);
  EXPECT_GT(record.trials_left_out, 4000U);
  EXPECT_EQ(record.trials[19].index, 19U);
  EXPECT_EQ(record.trials.back().index, 5000U);
}

TEST(EvidenceRecord, ALongNameIsCutAndPlain) {
  EvidenceRecord record = full_record();
  record.launches->front().name = std::string(std::size_t{1} << 20, '\x1b');
  record.launches->front().whose = "\xff\xfe";
  record = bounded(std::move(record));
  EXPECT_LE(record.launches->front().name.size(), 200U);
  EXPECT_EQ(record.launches->front().name.find('\x1b'), std::string::npos);
  EXPECT_EQ(record.launches->front().whose, "\xEF\xBF\xBD\xEF\xBF\xBD");
}

// Every list and text is too large, and JSON escapes every character.
EvidenceRecord huge_record() {
  const std::string text(1'000, '"');
  const std::vector<std::int64_t> shape(200, std::numeric_limits<std::int64_t>::min());
  const std::vector<std::uint64_t> grid(1000, std::numeric_limits<std::uint64_t>::max());
  EvidenceRecord record;
  record.inputs.assign(50, {text, std::vector<InputTensor>(300, {text, text, shape}), 1});
  EvidenceTrial each = a_trial(0, false);
  each.inputs = each.weights = text;
  each.outputs.assign(50, {text, text, shape, -1.0 / 3, -1.0 / 3, -1.0 / 3, {}, {}, Element{-infinity}, {}});
  record.trials.assign(50, each);
  const Neighbour neighbour{shape, {-1.0 / 3}, {not_a_number}, true};
  record.first_mismatch = MismatchEvidence{
      0, text, shape, {not_a_number}, {not_a_number}, std::vector<Neighbour>(300, neighbour), {}, {}};
  record.launches.emplace(
      2000, EvidenceLaunch{0, 0, 0, FactSource::claim, text, text, grid, grid, -1.0 / 3, -1.0 / 3});
  record.decoys.assign(300, {text, CheckOutcome::not_run});
  record.certificate = Certificate{5, std::vector<EmptyAnswer>(300, {text, false})};
  record.audits.assign(300, {text, CheckOutcome::not_run, 1});
  return record;
}

TEST(EvidenceRecord, TheLargestOneKeepsItsBound) {
  const EvidenceRecord record = bounded(huge_record());
  EXPECT_LE(record_text(record).size(), max_evidence_bytes);
  EXPECT_EQ(record.trials.size() + record.trials_left_out, 50U);
  EXPECT_EQ(record.launches->size() + record.launches_left_out, 2000U);
  EXPECT_GT(record.trials.front().outputs_left_out, 0U);
  EXPECT_GT(record.inputs.front().tensors_left_out, 1U);
  EXPECT_TRUE(parse_json(record_text(record)));
}

TEST(EvidenceRecord, OneThatIsReadIsBounded) {
  EvidenceRecord back;
  ASSERT_TRUE(read(written(huge_record()), back));
  EXPECT_LE(record_text(back).size(), max_evidence_bytes);
}

TEST(EvidenceRecord, FieldsOfAnotherFormAreLeftOut) {
  json::value value = written(full_record());
  value.as_object()["trials"] = json::array{1, "x", value.at("trials").at(1)};
  value.as_object()["launches"] = "none";
  value.as_object()["clock_check"] = json::array{};
  EvidenceRecord record;
  ASSERT_TRUE(read(value, record));
  EXPECT_EQ(record.trials.size(), 1U);
  EXPECT_FALSE(record.launches);
  EXPECT_FALSE(record.clock_check);
}

Verdict bare_verdict() {
  Verdict v;
  v.id = "row";
  v.task_id = "task";
  v.candidate_sha256 = std::string(64, 'a');
  return v;
}

TEST(EvidenceRecord, IsAFieldOfItsVerdict) {
  Verdict v = bare_verdict();
  v.evidence = full_record();
  auto back = verdict_from_json(to_json(v));
  ASSERT_TRUE(back && back->evidence);
  EXPECT_EQ(record_text(*back->evidence), record_text(full_record()));
}

TEST(EvidenceRecord, AVerdictOfAnEarlierVersionHasNone) {
  json::object object = to_json(bare_verdict());
  ASSERT_TRUE(object.at("evidence").is_null());
  object.erase("evidence");
  auto back = verdict_from_json(object);
  ASSERT_TRUE(back);
  EXPECT_FALSE(back->evidence);
  EXPECT_TRUE(to_json(*back).at("evidence").is_null());
}

}  // namespace
}  // namespace kw
