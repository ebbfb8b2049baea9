// The words of a verdict by name, and the words of --only.
#include "verify/explain/glossary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "types/enums.h"
#include "verify/explain/selection.h"
#include "verify/explain/words.h"

namespace kw::explain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::string_view> words_for(std::string_view word) {
  std::vector<std::string_view> words;
  if (auto entries = entries_of(word))
    for (const Entry& entry : *entries) words.push_back(entry.word);
  return words;
}

TEST(Glossary, EveryWordHasASentenceAndARemedy) {
  for (const Entry& entry : glossary()) {
    SCOPED_TRACE(entry.word);
    EXPECT_TRUE(entry.what.ends_with("."));
    EXPECT_TRUE(entry.advice.ends_with("."));
  }
}
TEST(Glossary, HasEveryValueOfEveryEnumerationOfAVerdict) {
  std::multiset<std::string_view> words;
  for (const Entry& entry : glossary()) words.insert(entry.word);
  std::multiset<std::string_view> wanted;
  auto want = [&](const auto& all) { wanted.insert(all.begin(), all.end()); };
  want(enum_words<Status>);
  want(enum_words<ErrorClass>);
  want(enum_words<CountsReason>);
  want(enum_words<Flag>);
  want(enum_words<Trust>);
  want(enum_words<Shapes>);
  want(enum_words<Stage>);
  want(enum_words<Fault>);
  want(enum_words<IsolationLevel>);
  want(enum_words<Sanitizer>);
  want(enum_words<TaskMark>);
  want(enum_words<ShapeGenerality>);
  want(enum_words<FamilyOutcome>);
  want(enum_words<SanitizerOutcome>);
  want(enum_words<StopReason>);
  for (const NamedWords& each : words_of_families()) wanted.insert(each.name);
  for (const NamedWords& each : words_of_answers()) wanted.insert(each.name);
  EXPECT_EQ(words, wanted);
}
TEST(Glossary, AWordOfSeveralKindsHasSeveralEntries) {
  EXPECT_EQ(words_for("nondeterministic").size(), 2U);
  EXPECT_EQ(words_for("infrastructure").size(), 2U);
}
TEST(Glossary, CaseAndHyphensDoNotMatter) {
  EXPECT_THAT(words_for("Compile-Error"), ElementsAre("compile_error"));
  EXPECT_THAT(words_for("in_process"), ElementsAre("in-process"));
}
TEST(Glossary, HasTheWordsOfVariedInputsSanitizersAnswersAndConversations) {
  for (const char* word : {"given_only", "not_run", "success_fast", "zeros", "shifted_4"})
    EXPECT_THAT(words_for(word), ElementsAre(word));
}
TEST(Glossary, AKindStandsForItsWords) {
  EXPECT_THAT(words_for("trust"), ElementsAre("replay", "in-process", "interpreter"));
  EXPECT_THAT(words_for("shapes"), ElementsAre("given", "reduced", "any", "given_only", "unknown"));
}
TEST(Glossary, APartStandsForAllWordsThatHaveIt) {
  EXPECT_THAT(words_for("memory"), ElementsAre("illegal_memory_access", "out_of_memory"));
}
TEST(Glossary, AnUnknownWordSuggestsTheNearestAndListsAll) {
  auto unknown = entries_of("libary_only");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().what, "\"libary_only\" is no word of a verdict; the nearest is library_only");
  EXPECT_THAT(unknown.error().remedy,
              HasSubstr("decoy, done, dropped, echo, empty, empty_output, error, failed"));
  auto strange = entries_of("\x1b[2Jxxxxxxxxxxxxxxxxxxxxxx");
  ASSERT_FALSE(strange);
  EXPECT_THAT(strange.error().what, Not(HasSubstr("\x1b")));
}
TEST(Glossary, AnEntryOnATerminal) {
  EXPECT_EQ(to_terminal(entries_of("out_of_memory")->front(), {.colours = false, .width = 60}),
            "out_of_memory (error class)\n"
            "  It ran out of memory.\n"
            "  help: Compute in blocks instead of building large\n"
            "        intermediate tensors.\n");
}
TEST(Glossary, TheListHasEveryWordByKind) {
  std::string list = word_list({});
  EXPECT_THAT(list, StartsWith("status\n  correct "));
  EXPECT_THAT(list, HasSubstr("\n\nerror class\n  syntax_error "));
  for (const Entry& entry : glossary()) EXPECT_THAT(list, HasSubstr(std::string(entry.word)));
}

bool holds(const std::string& words, Status status, std::optional<bool> counts, std::string_view why) {
  return parse_selection(words)->holds(status, counts, why);
}

TEST(Selection, FailedIsAllThatIsNotRight) {
  EXPECT_FALSE(holds("failed", Status::correct, true, ""));
  EXPECT_TRUE(holds("failed", Status::correct, false, "decoy"));
  EXPECT_TRUE(holds("failed", Status::incorrect, {}, "wrong_value"));
  EXPECT_TRUE(holds("failed", Status::failed, {}, "timeout"));
  EXPECT_TRUE(holds("failed", Status::skipped, {}, "too_large"));
}
TEST(Selection, AStatusAClassOrAReason) {
  EXPECT_TRUE(holds("correct", Status::correct, false, "decoy"));
  EXPECT_FALSE(holds("right", Status::correct, false, "decoy"));
  EXPECT_TRUE(holds("wrong", Status::incorrect, {}, "wrong_value"));
  EXPECT_FALSE(holds("wrong", Status::failed, {}, "timeout"));
  EXPECT_TRUE(holds("skipped, timeout", Status::failed, {}, "timeout"));
  EXPECT_FALSE(holds("decoy", Status::failed, {}, "timeout"));
}
TEST(Selection, WithoutWordsItHoldsAll) {
  EXPECT_TRUE(Selection{}.holds(Status::correct, true, ""));
}
TEST(Selection, AnUnknownWordIsAnError) {
  auto unknown = parse_selection("faild");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().what, HasSubstr("\"faild\""));
  EXPECT_THAT(unknown.error().what, HasSubstr("nearest is failed"));
  EXPECT_FALSE(parse_selection(""));
  EXPECT_FALSE(parse_selection("failed,"));
}

}  // namespace
}  // namespace kw::explain
