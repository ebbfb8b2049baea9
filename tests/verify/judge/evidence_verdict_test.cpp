// The evidence record of verdicts with and without a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <boost/json/serialize.hpp>

#include "verdict_world.h"

namespace kw::verify {
namespace {

using namespace test;
using ::testing::ElementsAre;
using wire::Body;

struct RecordWorld : VerdictWorld {
  explicit RecordWorld(Device device = Device::cuda) : VerdictWorld(device) {
    settings.evidence = "all";
    fake.when("oracle", Body::Judge, says<wire::JudgedT>([](auto& judged) {
                auto output = std::make_unique<wire::OutputErrorsT>();
                output->output = "output";
                output->dtype = "float32";
                output->shape = {4, 8};
                output->rtol = output->atol = 1e-4;
                output->max_error_over_limit = judged.right ? 0.5 : 20;
                judged.outputs.push_back(std::move(output));
              }));
  }

  // Without a record the test ends here.
  EvidenceRecord record() {
    const Verdict verdict = run();
    EXPECT_TRUE(verdict.evidence) << verdict.error.value_or("");
    return verdict.evidence.value_or(EvidenceRecord{});
  }
};

std::size_t count(const EvidenceRecord& record, TrialPath path, TrialPurpose purpose) {
  return static_cast<std::size_t>(std::ranges::count_if(record.trials, [=](const EvidenceTrial& each) {
    return each.path == path && each.purpose == purpose;
  }));
}

CheckOutcome decoy(const EvidenceRecord& record, std::string_view name) {
  const auto found = std::ranges::find(record.decoys, name, &DecoyCheck::name);
  EXPECT_NE(found, record.decoys.end()) << name;
  return found == record.decoys.end() ? CheckOutcome::not_run : found->outcome;
}

CheckOutcome audit(const EvidenceRecord& record, std::string_view name) {
  const auto found = std::ranges::find(record.audits, name, &AuditCheck::name);
  EXPECT_NE(found, record.audits.end()) << name;
  return found == record.audits.end() ? CheckOutcome::not_run : found->outcome;
}

React mismatch() {
  return [](const wire::BodyUnion& asked, Reaction& usual) {
    judges_wrong()(asked, usual);
    auto* judged = usual.answer.AsJudged();
    judged->first_mismatch = std::make_unique<wire::MismatchT>();
    wire::MismatchT& first = *judged->first_mismatch;
    first.output = "output";
    first.index = {2, 5};
    first.near_from = 4;
    first.near_expected = {1, 2, 3};
    first.near_actual = {1, 20, 3};
    first.near_wrong = {false, true, false};
    first.expected_values = std::make_unique<wire::ValueSummaryT>();
    first.expected_values->finite = 32;
    first.expected_values->min = -3;
    first.actual_values = std::make_unique<wire::ValueSummaryT>();
    first.actual_values->nan = 32;
  };
}

// ---- which verdicts keep one

TEST(KeptEvidence, ByDefaultIsThatOfVerdictsThatAreNotRightAndCounting) {
  VerdictWorld right;
  EXPECT_FALSE(right.run().evidence);
  VerdictWorld wrong;
  wrong.fake.when("oracle", Body::Judge, judges_wrong(), 2);
  EXPECT_TRUE(wrong.run().evidence);
  VerdictWorld hollow;
  hollow.fake.when("oracle", Body::Prepare,
                   says<wire::PreparedT>([](auto& task) { task.proves_nothing = "zeros"; }));
  EXPECT_TRUE(hollow.run().evidence);
}

TEST(KeptEvidence, IsNoneWhereNoneIsWanted) {
  VerdictWorld world;
  world.settings.evidence = "none";
  world.fake.when("oracle", Body::Judge, judges_wrong(), 2);
  EXPECT_FALSE(world.run().evidence);
}

TEST(KeptEvidence, IsNoneOfACandidateThatWasNeverCalled) {
  RecordWorld refused;
  refused.job.candidate.code = "def nothing():\n    pass\n";
  EXPECT_FALSE(refused.run().evidence);
  RecordWorld hopeless;
  hopeless.fake.when("oracle", Body::Prepare, fails("prepare", "task_invalid", "no task"));
  EXPECT_FALSE(hopeless.run().evidence);
}

TEST(KeptEvidence, ChangesNothingElse) {
  VerdictWorld without;
  VerdictWorld with;
  with.settings.evidence = "all";
  auto other = [](VerdictWorld& world) {
    auto object = to_json(world.run());
    object.erase("evidence");
    object.erase("stages_ms");
    return boost::json::serialize(object) + world.exchange();
  };
  EXPECT_EQ(other(with), other(without));
}

// ---- with a GPU

TEST(ReplayEvidence, HoldsEveryJudgement) {
  RecordWorld world;
  const EvidenceRecord record = world.record();
  EXPECT_EQ(count(record, TrialPath::call, TrialPurpose::recording), 2U);
  EXPECT_EQ(count(record, TrialPath::replay, TrialPurpose::correctness), 5U);
  EXPECT_GT(count(record, TrialPath::replay, TrialPurpose::timing), 10U);
  for (std::size_t i = 0; i < record.trials.size(); ++i) EXPECT_EQ(record.trials[i].index, i);
  const EvidenceTrial& first = record.trials.front();
  EXPECT_TRUE(first.passed);
  EXPECT_EQ(first.inputs, "given");
  EXPECT_EQ(first.weights, "automatic");
  EXPECT_DOUBLE_EQ(first.max_error_over_limit.value_or(Element{}).value, 0.5);
  ASSERT_EQ(first.outputs.size(), 1U);
  EXPECT_FALSE(first.outputs.front().reference_loss);
}

TEST(ReplayEvidence, HoldsTheLaunchesOfEveryRecordingWithTheirStreams) {
  RecordWorld world;
  world.fake.when("replayer", Body::LoadRecording, says<wire::ReplayableT>([](auto& facts) {
                    facts.launches[0]->stream = 3;
                    facts.launches[0]->operation = 7;
                    facts.launch_count = 5;
                  }));
  const EvidenceRecord record = world.record();
  ASSERT_TRUE(record.launches);
  ASSERT_EQ(record.launches->size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const EvidenceLaunch& launch = (*record.launches)[i];
    EXPECT_EQ(launch.recording, i);
    EXPECT_EQ(launch.stream, 3U);
    EXPECT_EQ(launch.position, 7U);
    EXPECT_EQ(launch.source, FactSource::replay);
    EXPECT_EQ(launch.whose, "candidate");
    EXPECT_FALSE(launch.start_ms);
    EXPECT_DOUBLE_EQ(launch.time_ms.value_or(0), 0.08);
  }
  EXPECT_EQ(record.launches_left_out, 8U);
}

TEST(ReplayEvidence, HoldsTheLaunchesOfACandidateWhoseReplayIsWrong) {
  RecordWorld world;
  world.fake.when("replayer", Body::LoadRecording, says<wire::ReplayableT>([](auto& facts) {
                    facts.late.push_back(std::make_unique<wire::LateOrderT>());
                    facts.unjoined = 3;
                  }),
                  1);
  // 12 and 14 judge the recorded order.
  for (int nth : {11, 13, 15, 16}) world.fake.when("oracle", Body::Judge, judges_wrong(), nth);
  const Verdict verdict = world.run();
  EXPECT_EQ(verdict.error_class, ErrorClass::live_replay_mismatch);
  ASSERT_TRUE(verdict.evidence && verdict.evidence->launches);
  EXPECT_EQ(verdict.evidence->launches->front().source, FactSource::replay);
  EXPECT_EQ(verdict.evidence->launches->size(), 2U);
  EXPECT_FALSE(verdict.evidence->trials.back().passed);
  EXPECT_EQ(verdict.evidence->trials.back().path, TrialPath::replay);
}

TEST(ReplayEvidence, HoldsTheOutcomeOfAReplayWithoutOwnLaunches) {
  RecordWorld honest;
  EXPECT_EQ(decoy(honest.record(), "without_own_launches"), CheckOutcome::wrong);
  RecordWorld decoys;
  decoys.fake.when("oracle", Body::Judge, [](const wire::BodyUnion& asked, Reaction& usual) {
    if (asked.AsJudge()->outputs_only) usual.answer.AsJudged()->right = true;
  });
  EXPECT_EQ(decoy(decoys.record(), "without_own_launches"), CheckOutcome::right);
  RecordWorld faults;
  faults.fake.when("replayer", Body::Replay, [](const wire::BodyUnion& asked, Reaction& usual) {
    if (!asked.AsReplay()->skip.empty()) fails("replay", "infrastructure", "fault")(asked, usual);
  });
  EXPECT_EQ(decoy(faults.record(), "without_own_launches"), CheckOutcome::failed);
}

TEST(ReplayEvidence, HoldsTheAudits) {
  RecordWorld skipped;
  EvidenceRecord record = skipped.record();
  EXPECT_EQ(audit(record, "kept_result"), CheckOutcome::right);
  EXPECT_EQ(audit(record, "unrecorded_calls"), CheckOutcome::not_run);
  RecordWorld audited;
  audited.settings.audit = 1;
  record = audited.record();
  EXPECT_EQ(audit(record, "unrecorded_calls"), CheckOutcome::right);
  EXPECT_GE(count(record, TrialPath::call, TrialPurpose::audit), 2U);
}

TEST(ReplayEvidence, HoldsAnAuditThatFoundAWrongResult) {
  RecordWorld world;
  world.settings.audit = 1;
  world.fake.when("plain runner", Body::Call,
                  [&](const auto&, Reaction&) { world.fake.when("oracle", Body::Judge, mismatch()); });
  const EvidenceRecord record = world.record();
  EXPECT_EQ(audit(record, "unrecorded_calls"), CheckOutcome::wrong);
  ASSERT_TRUE(record.first_mismatch);
  EXPECT_EQ(record.trials.back().index, record.first_mismatch->trial);
  EXPECT_EQ(record.trials.back().purpose, TrialPurpose::audit);
}

TEST(ReplayEvidence, HoldsBothClocks) {
  RecordWorld world;
  const EvidenceRecord record = world.record();
  ASSERT_TRUE(record.clock_check);
  EXPECT_EQ(record.clock_check->device_source, FactSource::replay);
  EXPECT_GT(record.clock_check->device_ms, 0);
  EXPECT_GT(record.clock_check->calls, 1U);
  ASSERT_TRUE(record.clock_check->replays);
  EXPECT_DOUBLE_EQ(record.clock_check->replays->device_ms, 0.08);
  EXPECT_DOUBLE_EQ(record.clock_check->replays->host_ms, 0.08);
  EXPECT_DOUBLE_EQ(record.clock_check->replays->tolerated_ms, 1.15 * 0.08 + 0.006);
}

TEST(InProcessEvidence, CallsTheCandidatesClockAClaim) {
  RecordWorld world;
  world.settings.replay = false;
  const EvidenceRecord record = world.record();
  ASSERT_TRUE(record.clock_check);
  EXPECT_EQ(record.clock_check->device_source, FactSource::claim);
  EXPECT_FALSE(record.clock_check->replays);
  ASSERT_TRUE(record.launches);
  EXPECT_EQ(record.launches->front().source, FactSource::claim);
  EXPECT_EQ(decoy(record, "without_launches"), CheckOutcome::wrong);
  EXPECT_GT(count(record, TrialPath::call, TrialPurpose::timing), 10U);
}

TEST(InProcessEvidence, ManyTimedTrialsAreCounted) {
  RecordWorld world;
  world.settings.replay = false;
  world.settings.timing_trials = 400;
  world.settings.timing_precision = 0;
  const EvidenceRecord record = world.record();
  EXPECT_EQ(record.trials.size() + record.trials_left_out,
            record.trials.back().index + 1 + record.trials_left_out);
  EXPECT_LE(record.trials.size(), 100U);
}

// ---- the task and the first mismatch

TEST(Evidence, HoldsTheInputsAndTheTrafficOfACall) {
  RecordWorld world;
  world.fake.spec.inputs = std::make_unique<wire::ValueT>();
  world.fake.spec.inputs->kind = wire::ValueKind::list;
  auto tensor = std::make_unique<wire::ValueT>();
  tensor->kind = wire::ValueKind::tensor;
  tensor->tensor = std::make_unique<wire::TensorT>();
  tensor->tensor->dtype = "float32";
  tensor->tensor->shape = {4, 8};
  auto pair = std::make_unique<wire::ValueT>();
  pair->kind = wire::ValueKind::dict;
  pair->keys = {"k"};
  pair->items.push_back(std::move(tensor));
  world.fake.spec.inputs->items.push_back(std::move(pair));
  world.fake.spec.input_names = {"x"};
  const EvidenceRecord record = world.record();
  EXPECT_EQ(record.moved_bytes, 128U + 64U);
  ASSERT_EQ(record.inputs.size(), 1U);
  ASSERT_EQ(record.inputs.front().tensors.size(), 1U);
  const InputTensor& input = record.inputs.front().tensors.front();
  EXPECT_EQ(input.name, "x[k]");
  EXPECT_EQ(input.dtype, "float32");
  EXPECT_THAT(input.shape, ElementsAre(4, 8));
}

TEST(Evidence, ARightVerdictWithoutARecordStatesTheDtypesOfItsInputs) {
  RecordWorld world;
  world.settings.evidence = "failed";
  world.fake.spec.inputs = std::make_unique<wire::ValueT>();
  world.fake.spec.inputs->kind = wire::ValueKind::tuple;
  for (const char* dtype : {"int64", "bfloat16", "int64", "\x1b[2J"}) {
    auto tensor = std::make_unique<wire::ValueT>();
    tensor->kind = wire::ValueKind::tensor;
    tensor->tensor = std::make_unique<wire::TensorT>();
    tensor->tensor->dtype = dtype;
    world.fake.spec.inputs->items.push_back(std::move(tensor));
  }
  const Verdict verdict = world.run();
  EXPECT_FALSE(verdict.evidence);
  ASSERT_TRUE(verdict.call);
  EXPECT_THAT(verdict.call->input_dtypes, ElementsAre("bfloat16", "int64"));
}

TEST(Evidence, HoldsTheCertificate) {
  RecordWorld world;
  world.fake.when("oracle", Body::Prepare, says<wire::PreparedT>([](auto& task) {
                    task.certificate_sets = 5;
                    task.empty_answers = {"zeros", "echo"};
                    task.passing_answers = {"echo"};
                    task.proves_nothing = "echo";
                  }));
  const EvidenceRecord record = world.record();
  ASSERT_TRUE(record.certificate);
  EXPECT_EQ(record.certificate->input_sets, 5U);
  ASSERT_EQ(record.certificate->answers.size(), 2U);
  EXPECT_FALSE(record.certificate->answers.front().passes);
  EXPECT_TRUE(record.certificate->answers.back().passes);
}

TEST(Evidence, WithoutACertificateHasNone) {
  RecordWorld world;
  EXPECT_FALSE(world.record().certificate);
}

TEST(Evidence, HoldsTheNeighboursOfTheFirstMismatch) {
  RecordWorld world;
  world.fake.when("oracle", Body::Judge, mismatch(), 3);
  const EvidenceRecord record = world.record();
  ASSERT_TRUE(record.first_mismatch);
  EXPECT_EQ(record.first_mismatch->trial, 1U);
  ASSERT_EQ(record.first_mismatch->neighbours.size(), 3U);
  const Neighbour& wrong = record.first_mismatch->neighbours[1];
  EXPECT_THAT(wrong.index, ElementsAre(2, 5));
  EXPECT_TRUE(wrong.wrong);
  EXPECT_DOUBLE_EQ(wrong.actual.value, 20);
  ASSERT_TRUE(record.first_mismatch->actual_values && record.first_mismatch->expected_values);
  EXPECT_DOUBLE_EQ(record.first_mismatch->expected_values->min.value_or(0), -3);
  EXPECT_FALSE(record.first_mismatch->actual_values->min);
  EXPECT_EQ(record.first_mismatch->actual_values->nan_count, 32U);
}

TEST(Evidence, OfACandidateThatIsRightAsConstructedNamesTheWeightsOfEachTrial) {
  RecordWorld world;
  world.fake.when("runner", Body::Load,
                  says<wire::LoadedT>([](auto& loaded) { loaded.weights_differ = true; }));
  world.fake.when("oracle", Body::Judge, mismatch(), 2);
  const EvidenceRecord record = world.record();
  EXPECT_FALSE(record.trials.front().passed);
  EXPECT_EQ(record.trials.front().weights, "automatic");
  EXPECT_EQ(record.trials.back().weights, "constructed");
  EXPECT_FALSE(record.first_mismatch);
}

// ---- without a GPU

TEST(CpuEvidence, HoldsTrialsAndClaimedLaunches) {
  RecordWorld world(Device::cpu);
  const EvidenceRecord record = world.record();
  EXPECT_EQ(record.trials.size(), 5U);
  ASSERT_TRUE(record.launches);
  EXPECT_EQ(record.launches->front().source, FactSource::claim);
  EXPECT_FALSE(record.launches->front().recording);
  EXPECT_FALSE(record.launches->front().stream);
  EXPECT_EQ(decoy(record, "without_launches"), CheckOutcome::wrong);
  EXPECT_EQ(decoy(record, "interpreted_without_launches"), CheckOutcome::wrong);
  EXPECT_EQ(decoy(record, "interpreted_with_spoilt_launches"), CheckOutcome::wrong);
  EXPECT_EQ(audit(record, "kept_result"), CheckOutcome::right);
  EXPECT_FALSE(record.clock_check);
}

TEST(CpuEvidence, CountsLaunchesThatWereNotListed) {
  RecordWorld world(Device::cpu);
  world.fake.when("runner", Body::Call,
                  says<wire::ReturnedT>([](auto& answer) { answer.launch_count = 1000; }));
  EXPECT_EQ(world.record().launches_left_out, 999U);
}

TEST(CpuEvidence, OfHostileNamesAndNumbersIsBounded) {
  RecordWorld world(Device::cpu);
  world.fake.when("runner", Body::Call, says<wire::ReturnedT>([](auto& answer) {
                    answer.launches[0]->name = std::string(50'000, '\x07');
                    answer.launches[0]->grid = {~0ULL, ~0ULL, ~0ULL, 1, 1, 1};
                  }));
  world.fake.when("oracle", Body::Judge, says<wire::JudgedT>([](auto& judged) {
                    judged.max_abs_error = std::numeric_limits<double>::quiet_NaN();
                    judged.outputs[0]->max_error_over_limit = std::numeric_limits<double>::infinity();
                    judged.outputs[0]->output = std::string(20'000, '\xff');
                  }));
  const Verdict verdict = world.run();
  ASSERT_TRUE(verdict.evidence);
  const std::string text = boost::json::serialize(written(*verdict.evidence));
  EXPECT_LT(text.size(), 10'000U);
  EXPECT_EQ(text.find('\x07'), std::string::npos);
  EXPECT_EQ(verdict.evidence->launches->front().grid.size(), 3U);
}

}  // namespace
}  // namespace kw::verify
