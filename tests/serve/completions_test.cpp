// Trainers' requests: extracting the code of a completion, and the reward beside the verdict.
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "serve/evaluation_json.h"

namespace kw::service {
namespace {

namespace json = boost::json;

json::object completion_request(const char* with) {
  json::object fields{{"reference_code", "r"}};
  for (const auto& [key, value] : json::parse(with).as_object()) fields[key] = value;
  return fields;
}

std::string refused_field(const char* with) {
  auto submission = read_submission(completion_request(with));
  return submission ? "" : submission.error().field;
}

json::object verdict_on(const char* with, Status status) {
  auto submission = read_submission(completion_request(with));
  Verdict verdict;
  verdict.status = status;
  verdict.counts = status == Status::correct ? std::optional(true) : std::nullopt;
  if (status == Status::error) verdict.fault = Fault::infrastructure;
  return json::parse(verdict_text(verdict, submission->job)).as_object();
}

TEST(Completion, GivesTheCode) {
  auto submission =
      read_submission(completion_request(R"({"completion": "Here:\n```python\nimport a\n```\nDone."})"));
  ASSERT_TRUE(submission);
  EXPECT_EQ(submission->job.candidate.code, "import a\n");
  EXPECT_FALSE(submission->job.carried.contains("completion"));
}

TEST(Completion, WithoutCodeIsAnAnswerToo) {
  auto submission = read_submission(completion_request(R"({"completion": "I cannot."})"));
  ASSERT_TRUE(submission);
  EXPECT_EQ(submission->job.candidate.code, "");
}

TEST(Completion, StandsAlone) {
  EXPECT_EQ(refused_field(R"({"completion": "c", "kernel_code": "k"})"), "completion");
  EXPECT_EQ(refused_field(R"({"completion": ["c"]})"), "completion");
  EXPECT_EQ(refused_field("{}"), "kernel_code");
}

TEST(Reward, StandsInTheVerdictInPlaceOfItsTerms) {
  EXPECT_EQ(verdict_on(R"({"kernel_code": "k", "reward": {"base": 0.5}})", Status::correct).at("reward"),
            0.5);
  EXPECT_EQ(verdict_on(R"({"kernel_code": "k", "reward": {}})", Status::incorrect).at("reward"), 0.0);
  EXPECT_TRUE(verdict_on(R"({"kernel_code": "k", "reward": {}})", Status::error).at("reward").is_null());
}

TEST(Reward, IsThereOnlyWhereItWasAskedFor) {
  EXPECT_FALSE(verdict_on(R"({"kernel_code": "k"})", Status::correct).contains("reward"));
  EXPECT_TRUE(verdict_on(R"({"kernel_code": "k", "reward": null})", Status::correct).at("reward").is_null());
}

TEST(Reward, OfTermsThatMakeNoSenseIsRefused) {
  EXPECT_EQ(refused_field(R"({"kernel_code": "k", "reward": {"cap": -1}})"), "reward");
}

}  // namespace
}  // namespace kw::service
