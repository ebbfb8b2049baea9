#include <gtest/gtest.h>

#include "base/core/crypto.h"
#include "base/core/json.h"
#include "types/job.h"

namespace kw {
namespace {

TEST(TaskId, KernelBenchNamesLevelAndProblem) {
  EXPECT_EQ(kernelbench_task_id("2", "9"), "kernelbench/2/9");
}

TEST(TaskId, AnUnknownLevelIsAQuestionMark) {
  EXPECT_EQ(kernelbench_task_id("", "9"), "kernelbench/?/9");
}

TEST(TaskId, HashCoversReferenceNulAndCanonicalShapes) {
  using namespace std::string_literals;
  std::string expected = sha256_hex("ref\0{\"a\":1,\"b\":{\"c\":2,\"d\":3}}"s).substr(0, 16);
  EXPECT_EQ(hashed_task_id("ref", R"({ "b": {"d": 3, "c": 2}, "a": 1 })"), "sha256:" + expected);
}

TEST(TaskId, KeyOrderOfShapesDoesNotMatter) {
  EXPECT_EQ(hashed_task_id("r", R"({"x":1,"y":2})"), hashed_task_id("r", R"({"y":2,"x":1})"));
}

TEST(TaskId, OtherShapesAreAnotherTask) {
  EXPECT_NE(hashed_task_id("r", R"({"x":1})"), hashed_task_id("r", ""));
}

TEST(CandidateSha256, IsOverTheBytesAsGiven) {
  EXPECT_EQ(candidate_sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_NE(candidate_sha256("a"), candidate_sha256("a\n"));
}

TEST(ParseJson, NamesTheByteWhereItBroke) {
  auto value = parse_json(R"({"a": )");
  ASSERT_FALSE(value);
  EXPECT_NE(value.error().what.find("not JSON"), std::string::npos);
}

TEST(ParseJson, TextAfterTheValueIsAnError) {
  EXPECT_FALSE(parse_json("{} x"));
}

TEST(ParseJson, DeepNestingIsAnErrorNotACrash) {
  EXPECT_FALSE(parse_json(std::string(100000, '[')));
}

}  // namespace
}  // namespace kw
