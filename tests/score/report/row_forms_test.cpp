#include "score/report/read_outputs.h"

#include <gmock/gmock.h>

#include <boost/json/parse.hpp>

#include "score/checks/held_out.h"

namespace kw::scoring {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Not;

// The forms of a row that `score` reads.
std::set<std::string> forms(const std::string& row) {
  auto output = row_output(boost::json::parse(row).as_object(), 1, "", ReadOptions());
  EXPECT_TRUE(output) << output.error().what;
  return output ? output->trained_forms : std::set<std::string>();
}

std::string task_of(const std::string& row) {
  auto output = row_output(boost::json::parse(row).as_object(), 1, "", ReadOptions());
  return output ? output->record.task_id : "";
}

const std::string pair = score::row_sha256("P", "C");
const std::string talk = score::messages_sha256(
    boost::json::parse(R"([{"role":"user","content":"P"},{"role":"assistant","content":"C"}])"));

TEST(RowForms, ArePairAndMessagesHoweverTheRowHasThem) {
  const char* rows[] = {
      R"({"prompt":"P","completion":"C"})",
      R"({"prompt":[{"role":"user","content":"P"}],"completion":[{"role":"assistant","content":"C"}]})",
      R"({"prompt":[{"role":"user","content":"P"}],"completion":"C"})",
      R"({"prompt":"[{\"role\":\"user\",\"content\":\"P\"}]","completion":"C"})",
      R"({"messages":[{"role":"user","content":"P"},{"role":"assistant","content":"C"}],"output":"x"})",
      R"({"messages":[{"role":"user","content":"P"}],"output":"x","reference_completion":"C"})"};
  for (const char* row : rows) {
    EXPECT_THAT(forms(row), Contains(pair)) << row;
    EXPECT_THAT(forms(row), Contains(talk)) << row;
  }
}

TEST(RowForms, AreOfEveryColumnThatCouldBeTheCompletion) {
  EXPECT_THAT(forms(R"({"prompt":"P","output":"x","completion":"C","reference_completion":"D"})"),
              Contains(pair));
  EXPECT_THAT(forms(R"({"prompt":"P","output":"C","reference_completion":"D"})"), Contains(pair));
  EXPECT_THAT(forms(R"({"prompt":"P","output":"x","expected_completion":"C"})"), Contains(pair));
}

TEST(RowForms, DoNotDependOnLineEndsAndBlanksAtTheEnds) {
  std::string lines = score::row_sha256("a\nb", "  c\nd");
  EXPECT_THAT(forms(R"({"prompt":"a\r\nb","completion":"  c\r\nd"})"), Contains(lines));
  EXPECT_THAT(forms(R"({"prompt":" a\nb\n","completion":"  c\r\nd\r\n"})"), Contains(lines));
  EXPECT_THAT(forms(R"({"prompt":"P ","completion":"\n C\n"})"), Contains(talk));
  EXPECT_THAT(
      forms(
          R"({"messages":[{"role":"user","content":"P\r\n"},{"role":"assistant","content":" C"}],"output":"x"})"),
      Contains(talk));
}

TEST(RowForms, OfARowWithoutTextsAreNone) {
  EXPECT_THAT(forms(R"({"output":"C"})"), IsEmpty());
  EXPECT_THAT(forms(R"({"prompt":"P","output":""})"), IsEmpty());
}

TEST(RowForms, AreOfAnotherRowOthers) {
  EXPECT_THAT(forms(R"({"prompt":"P","completion":"D"})"), Not(Contains(pair)));
}

TEST(RowTask, IsNamedAsTrainingReadsIt) {
  EXPECT_EQ(task_of(R"({"output":"x","kind":"trace","source":{"path":"kernelbench/1/19"}})"),
            "kernelbench/1/19");
  EXPECT_EQ(task_of(R"({"output":"x","sample_key":"kernelbench_19"})"), "kernelbench_19");
  EXPECT_EQ(task_of(R"({"output":"x","task_id":19})"), "19");
}

}  // namespace
}  // namespace kw::scoring
