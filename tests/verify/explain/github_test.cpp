// Annotations and the job summary: what a runner of GitHub's workflows reads from them.
#include "verify/explain/github.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/core/display.h"
#include "base/core/text.h"
#include "findings_world.h"

namespace kw::explain {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    lines.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return lines;
}

// Everything with which a candidate could begin a command, end one, or hide one.
const std::string attack =
    "x\n::stop-commands::pause\r\n::set-output name=a::b\u2028::error::c\n##[add-mask]d\n%0A::error::e\n"
    "\x1b[2J\u202e,:%";

Verdict all_hostile() {
  Verdict verdict = failed(ErrorClass::runtime_error, Stage::run, attack, 2);
  verdict.id = attack;
  verdict.error_detail->file = attack;
  verdict.error_detail->compiler_text = attack;
  verdict.printed = attack;
  verdict.comparison.emplace();
  verdict.comparison->findings = {attack};
  return verdict;
}

TEST(Annotations, HaveThePlaceTheTitleAndTheMessage) {
  EXPECT_EQ(
      to_annotations(all({found(out_of_bounds)})),
      "::error file=kernels/relu.py,line=8,col=9,endColumn=16,title=failed (out_of_bounds)::relu: A kernel "
      "reads or writes outside of its tensors.%0Aout-of-bounds load in double%0Ahelp: Mask this access, or "
      "correct the offsets: no lane may access memory past the end, even if its value is unused.\n");
}
TEST(Annotations, LevelsHaveTheirCommands) {
  const std::string text =
      to_annotations(all({found(verdict(Status::skipped, Stage::run)), found(out_of_bounds),
                          found(does_not_count(CountsReason::decoy))}));
  const auto lines = lines_of(text);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_THAT(lines[0], StartsWith("::error "));
  EXPECT_THAT(lines[1], StartsWith("::warning "));
  EXPECT_THAT(lines[2], StartsWith("::notice "));
}
TEST(Annotations, AHostileCandidateWritesOneAnnotation) {
  const Origins origins{{"a,b:c%0A::d", 1, false}, {}};
  const std::string text = to_annotations(all({found(all_hostile(), attack, origins)}));
  const auto lines = lines_of(text);
  ASSERT_EQ(lines.size(), 1U) << text;
  EXPECT_THAT(text, StartsWith("::error file=a%2Cb%3Ac%250A%3A%3Ad,"));
  // The properties end at the first "::" behind the command.
  const std::size_t end = text.find("::", 2);
  EXPECT_THAT(text.substr(0, end), EndsWith("title=failed (runtime_error)"));
  EXPECT_THAT(text.substr(end), Not(HasSubstr("##["))) << "but for the broken form";
  EXPECT_THAT(text, HasSubstr("%250A::error::e"));
  EXPECT_THAT(text, Not(HasSubstr("\u2028")));
  EXPECT_EQ(text, visible(text));
}
TEST(Annotations, NameNoFileThatGitHubCannotShow) {
  for (const char* path : {"a\nb.py", "\xff.py", "\u202e.py"}) {
    const std::string text = to_annotations(all({found(out_of_bounds, code, {{path, 1, false}, {}})}));
    EXPECT_THAT(text, StartsWith("::error title=")) << path;
  }
}
TEST(Annotations, AreTenOfEachLevelAndNameTheOthers) {
  std::vector<Finding> list(12, found(verdict(Status::skipped, Stage::run)));
  list.insert(list.end(), 15, found(out_of_bounds));
  const auto lines = lines_of(to_annotations(all(list)));
  ASSERT_EQ(lines.size(), 21U);
  EXPECT_THAT(lines[9], StartsWith("::error "));
  EXPECT_THAT(lines[10], StartsWith("::notice "));
  EXPECT_EQ(lines[20], "7 more are without an annotation: GitHub shows 10 of each level a step");
}
TEST(Annotations, BadRowsAreErrorsBehindThoseOfCandidates) {
  Findings findings = all({found(out_of_bounds)});
  findings.add_bad_row("x.jsonl, row 3: not JSON\n::error::x", place_of("x.jsonl", "/checkout"));
  const auto lines = lines_of(to_annotations(findings));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1], "::error file=x.jsonl,title=not judged::x.jsonl, row 3: not JSON%0A\\::error::x");
}

TEST(JobSummary, CountsListsAndExplains) {
  Findings findings = all({found(out_of_bounds), found(does_not_count(CountsReason::decoy))});
  findings.add_right();
  const std::string text = to_job_summary(findings);
  EXPECT_THAT(text, StartsWith("## Kernelwright: 1 of 3 kernels right\n\n- 1 incorrect or failed\n"));
  EXPECT_THAT(text, HasSubstr("| relu | kernels/relu.py:8 | failed (out\\_of\\_bounds) | A kernel reads or"));
  EXPECT_THAT(text, HasSubstr("### relu: failed (out\\_of\\_bounds)\n"));
  EXPECT_THAT(text, HasSubstr("<br>help: Mask this access"));
}
TEST(JobSummary, TextOfACandidateIsNoMarkup) {
  Verdict verdict = all_hostile();
  verdict.error = "<img src=https://evil.example/x>\n# heading\n```\n@someone [a](javascript:b) | c";
  const std::string text = to_job_summary(all({found(verdict, attack)}));
  EXPECT_THAT(text, Not(HasSubstr("<img")));
  EXPECT_THAT(text, Not(HasSubstr("https://")));
  EXPECT_THAT(text, Not(HasSubstr("@someone")));
  EXPECT_THAT(text, Not(HasSubstr("[a](")));
  EXPECT_THAT(text, Not(HasSubstr("\n# heading")));
  EXPECT_THAT(text, Not(HasSubstr("\n```")));
  EXPECT_EQ(text, visible(text));
}
TEST(JobSummary, TenThousandLoudVerdictsFit) {
  Findings findings(25'000);
  const Finding loud = found(failed(ErrorClass::runtime_error, Stage::run, std::string(1'400, '<'), 8));
  for (int i = 0; i < 10'000; ++i) findings.add(loud);
  const std::string text = to_job_summary(findings);
  EXPECT_LT(text.size(), 600'000U);
  EXPECT_THAT(text, HasSubstr("\n9800 more are left out of this table.\n"));
}

}  // namespace
}  // namespace kw::explain
