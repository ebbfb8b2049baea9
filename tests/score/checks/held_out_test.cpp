#include "score/checks/held_out.h"

#include <gmock/gmock.h>

#include <boost/json/parse.hpp>
#include <filesystem>

#include "base/core/crypto.h"

namespace kw::score {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::string hash_a = row_sha256("prompt", "completion");

std::string manifest(const std::string& rows) {
  return R"({"schema":"kernelwright.training/1","program":"kernelwright 1","base_model":"m","rows":[)" +
         rows + "]}";
}

std::string row(const std::string& id, const std::string& task_id, const std::string& sha256) {
  auto text = [](const std::string& value) { return value.empty() ? "null" : '"' + value + '"'; };
  return R"({"id":)" + text(id) + R"(,"task_id":)" + text(task_id) + R"(,"licence":null,"sha256":)" +
         text(sha256) + "}";
}

TrainingManifest trained_on(const std::string& rows) {
  auto read = manifest_from_json(manifest(rows));
  EXPECT_TRUE(read) << read.error().what;
  return read ? *read : TrainingManifest();
}

std::string manifest_error(const std::string& text) {
  auto read = manifest_from_json(text);
  return read ? "" : read.error().what;
}

TEST(RowSha256, IsOverPromptNulAndCompletion) {
  EXPECT_EQ(row_sha256("a", "b"), sha256_hex(std::string("a\0b", 3)));
  EXPECT_NE(row_sha256("ab", "c"), row_sha256("a", "bc"));
}

TEST(MessagesSha256, DoesNotDependOnTheOrderOfKeys) {
  auto one = boost::json::parse(R"([{"role":"user","content":"ä"}])");
  auto other = boost::json::parse(R"([ {"content":"ä", "role":"user"} ])");
  EXPECT_EQ(messages_sha256(one), messages_sha256(other));
  EXPECT_EQ(messages_sha256(one), sha256_hex(R"([{"content":"ä","role":"user"}])"));
}

TEST(MessagesSha256, DoesNotCountWhatAMessageHasNot) {
  EXPECT_EQ(messages_sha256(
                boost::json::parse(R"([{"role":"user","content":[{"text":"x","image":null}],"name":null}])")),
            messages_sha256(boost::json::parse(R"([{"role":"user","content":[{"text":"x"}]}])")));
}

TEST(HeldOut, SeesATaskThatWasTrainedOn) {
  auto seen = seen_in_training(trained_on(row("1", "sample/relu", hash_a)),
                               {{"sample/gelu", "", {}}, {"sample/relu", "", {}}});
  ASSERT_THAT(seen, SizeIs(1));
  EXPECT_EQ(seen[0].item, 1U);
  EXPECT_EQ(seen[0].by, "task_id");
}

TEST(HeldOut, SeesARowByItsIdOrText) {
  auto trained = trained_on(row("1", "", hash_a));
  EXPECT_EQ(seen_in_training(trained, {{"", "1", {}}}).at(0).by, "row_id");
  EXPECT_EQ(
      seen_in_training(trained, {{"other", "2", {row_sha256("x", "y"), row_sha256("prompt", "completion")}}})
          .at(0)
          .by,
      "sha256");
  EXPECT_EQ(trained.rows_without_task, 1U);
}

TEST(HeldOut, DoesNotTakeWhatIsMissingOnBothSidesForTheSame) {
  EXPECT_THAT(seen_in_training(trained_on(row("", "", hash_a)), {{"", "", {}}}), IsEmpty());
}

bool sees(const std::string& trained_task, const std::string& task_id, const std::string& row_id = "") {
  return !seen_in_training(trained_on(row("", trained_task, hash_a)), {{task_id, row_id, {}}}).empty();
}

TEST(HeldOut, KnowsATaskHoweverItsNameIsWritten) {
  for (const char* name : {" kernelbench/1/19\t", "KernelBench/1/19", "kernelbench_19", "kernelbench/?/19"})
    EXPECT_TRUE(sees("kernelbench/1/19", name)) << name;
  EXPECT_TRUE(sees("kernelbench_19", "kernelbench/2/19"));
  EXPECT_TRUE(sees("kernelbench/?/19", "kernelbench_19"));
  EXPECT_TRUE(sees("Sample/relu ", "sample_relu"));
}

TEST(HeldOut, KeepsLevelsAndProblemsApart) {
  for (const char* name : {"kernelbench/2/19", "kernelbench/1/9", "kernelbench_1", "kernelbench/1", "19"})
    EXPECT_FALSE(sees("kernelbench/1/19", name)) << name;
  EXPECT_FALSE(sees("kernelbook_19", "kernelbench_19"));
}

TEST(HeldOut, KnowsATaskThatOnlyTheIdNames) {
  EXPECT_TRUE(sees("kernelbench/1/19", "", "kernelbench_19"));
  auto trained = trained_on(row("kernelbench/1/19", "", hash_a) + "," + row("7", "", hash_a));
  EXPECT_THAT(seen_in_training(trained, {{"KernelBench/1/19", "", {}}}), SizeIs(1));
  EXPECT_THAT(seen_in_training(trained, {{"7", "", {}}}), IsEmpty());
}

TEST(HeldOut, SaysWhatCannotBeCompared) {
  EXPECT_FALSE(EvaluatedItem().is_comparable());
  EXPECT_TRUE((EvaluatedItem{"", "", {hash_a}}).is_comparable());
}

TEST(Manifest, WithoutRowsHoldsNothing) {
  EXPECT_EQ(trained_on("").rows, 0U);
}

TEST(Manifest, ThatIsBrokenIsAnErrorWithItsPlace) {
  EXPECT_THAT(manifest_error("{"), HasSubstr("no JSON"));
  EXPECT_THAT(manifest_error("[]"), HasSubstr("no JSON object"));
  EXPECT_THAT(manifest_error("{}"), HasSubstr("has the schema ''"));
  EXPECT_THAT(manifest_error(R"({"schema":"kernelwright.training/2","rows":[]})"),
              HasSubstr("kernelwright.training/2"));
  EXPECT_THAT(manifest_error(R"({"schema":"kernelwright.training/1"})"), HasSubstr("no list of rows"));
  EXPECT_THAT(manifest_error(manifest(row("1", "t", hash_a) + ",7")), HasSubstr("row 2 is no object"));
  EXPECT_THAT(manifest_error(manifest(R"({"id":1,"sha256":")" + hash_a + R"("})")),
              HasSubstr("must be strings or null"));
  EXPECT_THAT(manifest_error(manifest(row("1", "t", "abc"))), HasSubstr("not 64 digits"));
  EXPECT_THAT(manifest_error(manifest(row("1", "t", ""))), HasSubstr("not 64 digits"));
  EXPECT_THAT(manifest_error(std::string(100'000, '[')), HasSubstr("no JSON"));
}

TEST(Manifest, ThatIsMissingIsAnErrorThatSaysWhatToGive) {
  auto read = read_manifest(std::filesystem::path(testing::TempDir()) / "no_such_manifest.json");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().what, HasSubstr("no_such_manifest.json"));
  EXPECT_THAT(read.error().remedy, HasSubstr("training_manifest.json"));
}

}  // namespace
}  // namespace kw::score
