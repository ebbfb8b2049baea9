#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "serve/dialects/kernelgym.h"
#include "serve/evaluation_json.h"
#include "types/verdict.h"

namespace kw::service {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

constexpr const char* kernelgym_request_text = R"({
  "task_id": "parallel_task_000001_1f2e3d4c", "reference_code": "class Net: ...", "kernel_code": "class NetNew: ...",
  "backend": "triton", "num_correct_trials": 3, "num_perf_trials": 50, "timeout": 60, "priority": "normal",
  "entry_point": "Net", "is_valid": false, "verbose_errors": true, "enable_profiling": true,
  "detect_decoy_kernel": true, "reference_backend": null})";

json::object changed(const char* with) {
  json::object request = json::parse(kernelgym_request_text).as_object();
  for (const auto& [key, value] : json::parse(with).as_object()) request[key] = value;
  return request;
}

Verdict right(double speedup = 2, Trust trust = Trust::replay) {
  Verdict v;
  v.id = "t";
  v.status = Status::correct;
  v.stage = Stage::done;
  v.counts = true;
  v.trust = trust;
  v.speedup = speedup;
  v.reference_time_ms = 2;
  v.kernel_time_ms = 2 / speedup;
  return v;
}

Verdict bad(Status status, ErrorClass error_class, Fault fault = Fault::kernel) {
  Verdict v;
  v.id = "t";
  v.status = status;
  v.error_class = error_class;
  v.fault = fault;
  v.error = "it broke";
  v.timing.why_null = "wrong";
  return v;
}

Verdict not_counting(CountsReason reason) {
  Verdict v = right();
  v.counts = false;
  v.counts_reason = reason;
  return v;
}

EvaluationState over(const Verdict& verdict) {
  return {"t",  State::done, std::make_shared<const std::string>(json::serialize(to_json(verdict))), "", 0,
          1000, 3500};
}

json::object result_of(const Verdict& verdict) {
  return kernelgym_result(over(verdict));
}

TEST(KernelGymRequest, BecomesOneOfOurs) {
  auto request = kernelgym_request(changed("{}"));
  ASSERT_TRUE(request);
  EXPECT_EQ(request->timeout.count(), 60);
  auto submission = read_submission(request->fields);
  ASSERT_TRUE(submission) << submission.error().message;
  EXPECT_EQ(submission->job.id, "parallel_task_000001_1f2e3d4c");
  EXPECT_EQ(submission->job.task.entry_point, "Net");
  EXPECT_EQ(submission->job.candidate.entry, "NetNew");
  EXPECT_EQ(submission->job.options.correctness_trials, 3U);
  EXPECT_EQ(submission->job.options.timing_trials, 50U);
  EXPECT_EQ(submission->job.options.timeout, std::chrono::seconds(60));
  EXPECT_FALSE(submission->fresh);
}

TEST(KernelGymRequest, KeepsWhatIsNotOurs) {
  auto submission = read_submission(kernelgym_request(changed(R"({"uuid": "u"})"))->fields);
  EXPECT_EQ(submission->job.carried.at("kernelgym").at("uuid"), "u");
}

TEST(KernelGymRequest, MayLeaveOutWhatHasADefault) {
  auto request = kernelgym_request(
      json::parse(
          R"({"task_id": "t", "reference_code": "class Model: ...", "kernel_code": "class ModelNew: ..."})")
          .as_object());
  ASSERT_TRUE(request);
  EXPECT_EQ(request->timeout.count(), 300);
  EXPECT_EQ(request->fields.at("kernel_entry"), "ModelNew");
  EXPECT_TRUE(read_submission(request->fields));
}

TEST(KernelGymRequest, HasAPriority) {
  auto priority = [](const char* word) {
    return kernelgym_request(changed(word))->fields.at("priority").to_number<int>();
  };
  EXPECT_GT(priority(R"({"priority": "high"})"), priority(R"({"priority": "normal"})"));
  EXPECT_GT(priority(R"({"priority": "normal"})"), priority(R"({"priority": "low"})"));
}

TEST(KernelGymRequest, ThatMakesNoSenseIsNamed) {
  for (auto [with, field] : {std::pair{R"({"workflow": "kernel_simple"})", "workflow"},
                             {R"({"priority": "urgent"})", "priority"},
                             {R"({"timeout": 0})", "timeout"},
                             {R"({"task_id": null})", "task_id"}}) {
    auto request = kernelgym_request(changed(with));
    ASSERT_FALSE(request) << with;
    EXPECT_EQ(request.error().field, field);
  }
}

TEST(KernelGymRequest, IsRefusedWhereAFieldIsNotHonoured) {
  for (auto [with, field] : {std::pair{R"({"reference_backend": "tensorrt"})", "reference_backend"},
                             {R"({"reference_backend": 1})", "reference_backend"},
                             {R"({"reference_backend": "a value that is no string"})", "reference_backend"},
                             {R"({"backend": "tvm_ffi"})", "backend"},
                             {R"({"detect_decoy_kernel": false})", "detect_decoy_kernel"},
                             {R"({"run_correctness": false})", "run_correctness"},
                             {R"({"toolkit": "kernel_simple"})", "toolkit"}}) {
    auto request = kernelgym_request(changed(with));
    ASSERT_FALSE(request) << with;
    EXPECT_EQ(request.error().status, 400);
    EXPECT_EQ(request.error().field, field);
    EXPECT_THAT(request.error().message, HasSubstr("not supported"));
  }
  EXPECT_EQ(kernelgym_request(changed(R"({"reference_backend": "tensorrt"})")).error().message,
            R"(reference_backend is "tensorrt", which is not supported: give "compile" for the time of the )"
            R"(reference under torch.compile, or leave it out for eager PyTorch)");
}

TEST(KernelGymRequest, MayNameTheBackendThatIsUsed) {
  for (const char* with : {R"({"reference_backend": "pytorch"})", R"({"reference_backend": ""})",
                           R"({"backend": "cuda"})", R"({"is_valid": true})", R"({"verbose_errors": false})",
                           R"({"enable_profiling": false})", R"({"use_reference_cache": true, "uuid": "u"})"})
    EXPECT_TRUE(kernelgym_request(changed(with))) << with;
}

TEST(KernelGymRequest, MayAskForTheCompiledReference) {
  for (const char* word : {"compile", "torch_compile", "torch-compile", "Compile"}) {
    json::object theirs = changed("{}");
    theirs["reference_backend"] = word;
    auto request = kernelgym_request(theirs);
    ASSERT_TRUE(request) << word;
    EXPECT_EQ(read_submission(request->fields)->job.options.compile_baseline, true) << word;
  }
  EXPECT_FALSE(read_submission(kernelgym_request(changed("{}"))->fields)->job.options.compile_baseline);
}

TEST(KernelGymResult, ComparesWithTheCompiledReferenceWhereItWasAskedFor) {
  Verdict verdict = right(4);
  verdict.timing.compile_time_ms = 0.75;
  EXPECT_EQ(result_of(verdict).at("speedup"), 4.0);
  verdict.further["kernelgym"] = json::object{{"reference_backend", "compile"}};
  json::object result = result_of(verdict);
  EXPECT_EQ(result.at("reference_runtime"), 0.75);
  EXPECT_EQ(result.at("kernel_runtime"), 0.5);
  EXPECT_EQ(result.at("speedup"), 1.5);
  EXPECT_EQ(result.at("metadata").at("reference_backend"), "compile");
}

TEST(KernelGymResult, WithoutTheCompiledTimeTheSpeedIsNotKnown) {
  Verdict verdict = right(4);
  verdict.further["kernelgym"] = json::object{{"reference_backend", "compile"}};
  json::object result = result_of(verdict);
  EXPECT_EQ(result.at("correctness"), true);
  EXPECT_EQ(result.at("reference_runtime"), -1.0);
  EXPECT_EQ(result.at("speedup"), 0.0);
  verdict.trust = Trust::in_process;
  verdict.timing.compile_time_ms = 0.75;
  EXPECT_EQ(result_of(verdict).at("speedup"), 0.0) << "not of a replay";
}

TEST(KernelGymResult, OfAFastKernel) {
  json::object result = result_of(right(2));
  EXPECT_EQ(result.at("status"), "completed");
  EXPECT_EQ(result.at("compiled"), true);
  EXPECT_EQ(result.at("correctness"), true);
  EXPECT_EQ(result.at("decoy_kernel"), false);
  EXPECT_EQ(result.at("speedup"), 2.0);
  EXPECT_EQ(result.at("reference_runtime"), 2.0);
  EXPECT_EQ(result.at("kernel_runtime"), 1.0);
  EXPECT_TRUE(result.at("error_message").is_null());
  EXPECT_TRUE(result.at("error_code").is_null());
  EXPECT_EQ(result.at("processing_time"), 2.5);
  EXPECT_EQ(result.at("completed_at"), "1970-01-01T00:00:03Z");
}

TEST(KernelGymResult, HasOnlySpeedsOfReplays) {
  json::object result = result_of(right(9, Trust::in_process));
  EXPECT_EQ(result.at("correctness"), true);
  EXPECT_EQ(result.at("speedup"), 0.0);
  EXPECT_EQ(result.at("kernel_runtime"), -1.0);
}

TEST(KernelGymResult, OfAWrongKernelIsCompleted) {
  json::object result = result_of(bad(Status::incorrect, ErrorClass::wrong_value));
  EXPECT_EQ(result.at("status"), "completed");
  EXPECT_EQ(result.at("compiled"), true);
  EXPECT_EQ(result.at("correctness"), false);
  EXPECT_EQ(result.at("speedup"), 0.0);
  EXPECT_EQ(result.at("error_code"), "CORRECTNESS_ERROR");
  EXPECT_EQ(result.at("error_message"), "it broke");
}

TEST(KernelGymResult, OfWhatDoesNotCompileIsFailedWithTheCompilersWords) {
  Verdict verdict = bad(Status::failed, ErrorClass::compile_error);
  verdict.error_detail = ErrorDetail{{}, 7, "at 7:4: tl.dot needs 16", {}};
  json::object result = result_of(verdict);
  EXPECT_EQ(result.at("status"), "failed");
  EXPECT_EQ(result.at("compiled"), false);
  EXPECT_EQ(result.at("error_code"), "COMPILATION_ERROR");
  EXPECT_EQ(result.at("error_message"), "it broke\nat 7:4: tl.dot needs 16");
  EXPECT_EQ(kernelgym_status(over(verdict)).at("error_message"), result.at("error_message"));
}

TEST(KernelGymResult, SaysNothingTwice) {
  Verdict verdict = bad(Status::failed, ErrorClass::runtime_error);
  verdict.error_detail = ErrorDetail{{}, {}, {}, "line 3, in forward\nit broke"};
  EXPECT_EQ(result_of(verdict).at("error_message"), "line 3, in forward\nit broke");
}

TEST(KernelGymResult, OfADecoySaysSo) {
  for (CountsReason reason : {CountsReason::decoy, CountsReason::library_only}) {
    json::object result = result_of(not_counting(reason));
    EXPECT_EQ(result.at("decoy_kernel"), true);
    EXPECT_EQ(result.at("correctness"), true);
  }
}

TEST(KernelGymResult, OfAnAnswerThatProvesNothingIsNotRight) {
  json::object result = result_of(not_counting(CountsReason::proves_nothing));
  EXPECT_EQ(result.at("decoy_kernel"), false);
  EXPECT_EQ(result.at("correctness"), false);
  EXPECT_EQ(result.at("error_message"),
            "The result is right, but this task is no evidence: an empty answer passes it too. "
            "(proves_nothing)");
}

TEST(KernelGymResult, TellsFaultsThatAreNotTheKernels) {
  EXPECT_EQ(result_of(bad(Status::error, ErrorClass::infrastructure, Fault::infrastructure)).at("error_code"),
            "SYSTEM_ERROR");
  EXPECT_EQ(result_of(bad(Status::error, ErrorClass::task_invalid, Fault::task)).at("error_code"),
            "VALIDATION_ERROR");
  EXPECT_EQ(result_of(bad(Status::error, ErrorClass::infrastructure, Fault::infrastructure)).at("status"),
            "failed");
}

TEST(KernelGymResult, SaysHowMuchTheKernelsOwnLaunchesDo) {
  Verdict verdict = right();
  verdict.launches = std::vector<Launch>(3);
  (*verdict.launches)[0].whose = "candidate";
  (*verdict.launches)[0].time_ms = 0.75;
  (*verdict.launches)[1].whose = "library";
  (*verdict.launches)[1].time_ms = 0.25;
  json::object metadata = result_of(verdict).at("metadata").as_object();
  EXPECT_EQ(metadata.at("num_custom_kernels").to_number<int>(), 1);
  EXPECT_EQ(metadata.at("num_total_kernels").to_number<int>(), 3);
  EXPECT_EQ(metadata.at("custom_kernel_cuda_time_in_profiling_us"), 750.0);
  EXPECT_EQ(metadata.at("total_kernel_run_time_in_profiling_us"), 1000.0);
}

TEST(KernelGymStatus, FollowsTheEvaluation) {
  EXPECT_EQ(kernelgym_status({"t", State::queued, nullptr, "", 0, {}, {}}).at("status"), "pending");
  EXPECT_EQ(kernelgym_status({"t", State::running, nullptr, "", 0, 1, {}}).at("status"), "processing");
  EXPECT_EQ(kernelgym_status({"t", State::cancelled, nullptr, "client", 0, {}, 2}).at("status"), "cancelled");
  EXPECT_EQ(kernelgym_status({"t", State::cancelled, nullptr, "deadline", 0, {}, 2}).at("status"), "timeout");
  EXPECT_EQ(kernelgym_status(over(right())).at("status"), "completed");
}

}  // namespace
}  // namespace kw::service
