#include "output/result_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/object.hpp>

#include "base/core/files.h"
#include "support/world.h"
#include "types/verdict.h"

namespace kw {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// The letter stands for the judged work.
Verdict verdict(const std::string& id, std::size_t sample, char work) {
  Verdict v;
  v.id = id;
  v.task_id = "sample/t";
  v.sample_number = sample;
  v.candidate_sha256 = std::string(64, '0');
  v.work = std::string(64, work);
  v.status = Status::correct;
  v.stage = Stage::done;
  v.environment.protocol = "p";
  return v;
}

Result<ResultSink> open(const std::string& path, bool fresh = false) {
  return ResultSink::open({.output = path, .fresh = fresh, .to_stdout = false});
}

// The file after a run that wrote these verdicts.
std::string written(const std::string& path, const std::vector<Verdict>& verdicts) {
  auto sink = open(path);
  for (const Verdict& v : verdicts) EXPECT_TRUE(sink->write(v, {}));
  return *read_file(path);
}

bool is_done(const ResultSink& sink, const Verdict& v) {
  auto done = sink.done({v.task_id, v.sample_number, v.work.value_or("")});
  return done && *done;
}

TEST(ResultSink, ASecondRunKnowsWhatIsDone) {
  Folder folder;
  Verdict first = verdict("a", 0, 'a');
  written(folder.path("o"), {first});
  auto sink = open(folder.path("o"));
  ASSERT_TRUE(sink);
  EXPECT_EQ(sink->found(), 1U);
  EXPECT_TRUE(is_done(*sink, first));
  EXPECT_FALSE(is_done(*sink, verdict("a", 1, 'a')));
  EXPECT_FALSE(is_done(*sink, verdict("a", 0, 'b')));
}
TEST(ResultSink, OtherWorkUnderTheSameNamesIsNotDone) {
  Folder folder;
  written(folder.path("o"), {verdict("a", 0, 'a')});
  auto sink = open(folder.path("o"));
  EXPECT_FALSE(is_done(*sink, verdict("a", 0, 'b')));
  EXPECT_FALSE(*sink->equal(std::string(64, 'b')));
}
TEST(ResultSink, WhatAnEarlierVersionWroteIsJudgedAnew) {
  Folder folder;
  Verdict old = verdict("a", 0, 'a');
  old.work.reset();
  written(folder.path("o"), {old});
  auto sink = open(folder.path("o"));
  EXPECT_EQ(sink->found(), 1U);
  EXPECT_FALSE(is_done(*sink, old));
  EXPECT_FALSE(is_done(*sink, verdict("a", 0, 'a')));
  EXPECT_FALSE(*sink->equal(""));
}
TEST(ResultSink, AppendsToWhatIsThere) {
  Folder folder;
  std::string before = written(folder.path("o"), {verdict("a", 0, 'a')});
  EXPECT_THAT(written(folder.path("o"), {verdict("b", 1, 'b')}), StartsWith(before));
}
TEST(ResultSink, EqualWorkIsFoundUnderAnyName) {
  Folder folder;
  auto sink = open(folder.path("o"));
  ASSERT_TRUE(sink);
  ASSERT_TRUE(sink->write(verdict("a", 0, 'a'), {}));
  ASSERT_TRUE(sink->write(verdict("b", 7, 'a'), {}));
  auto equal = sink->equal(std::string(64, 'a'));
  ASSERT_TRUE(equal && *equal);
  EXPECT_EQ((*equal)->id, "a");
}
TEST(ResultSink, AnInfrastructureErrorIsTriedAgain) {
  Folder folder;
  Verdict broken = verdict("a", 0, 'a');
  broken.status = Status::error;
  broken.fault = Fault::infrastructure;
  written(folder.path("o"), {broken});
  auto sink = open(folder.path("o"));
  EXPECT_FALSE(is_done(*sink, broken));
  EXPECT_FALSE(*sink->equal(*broken.work));
}
TEST(ResultSink, ATornLastLineIsCutOffWhereverItTore) {
  Folder folder;
  std::string both = written(folder.path("o"), {verdict("a", 0, 'a'), verdict("b", 1, 'b')});
  std::size_t first = both.find('\n') + 1;
  for (std::size_t size = first + 1; size < both.size() - 1; size += 37) {
    std::string path = folder.write("torn", both.substr(0, size));
    auto sink = open(path);
    ASSERT_TRUE(sink) << sink.error().what;
    EXPECT_EQ(*read_file(path), both.substr(0, first));
    ASSERT_TRUE(sink->write(verdict("b", 1, 'b'), {}));
    EXPECT_EQ(*read_file(path), both);
  }
}
TEST(ResultSink, ATornFirstLineNamesThisProgram) {
  Folder folder;
  std::string whole = written(folder.path("o"), {verdict("a", 0, 'a')});
  for (std::size_t size : {23U, 40U, 100U}) {
    std::string path = folder.write("torn", whole.substr(0, size));
    EXPECT_TRUE(open(path)) << size;
    EXPECT_EQ(*read_file(path), "") << size;
  }
  for (const char* text : {"{", "{\"", "{\"schema\":", "{\"schema\":\"other/1\""}) {
    std::string path = folder.write("foreign", text);
    EXPECT_FALSE(open(path)) << text;
    EXPECT_EQ(*read_file(path), text);
  }
}
TEST(ResultSink, AWholeLineWithoutItsNewlineIsKept) {
  Folder folder;
  std::string both = written(folder.path("o"), {verdict("a", 0, 'a'), verdict("b", 1, 'b')});
  std::string path = folder.write("whole", both.substr(0, both.size() - 1));
  auto sink = open(path);
  EXPECT_EQ(sink->found(), 2U);
  EXPECT_EQ(*read_file(path), both);
  ASSERT_TRUE(sink->write(verdict("c", 2, 'c'), {}));
  EXPECT_TRUE(is_done(*sink, verdict("c", 2, 'c')));
}
TEST(ResultSink, AFileThatIsNotOursStaysAsItIs) {
  Folder folder;
  for (const char* text : {"my own notes\nof many lines\n", "notes without an end", "{\"prompt\":1}\n"}) {
    std::string path = folder.write("notes", text);
    for (bool fresh : {false, true}) {
      auto sink = open(path, fresh);
      ASSERT_FALSE(sink);
      EXPECT_THAT(sink.error().what, HasSubstr(path));
      EXPECT_THAT(sink.error().what, HasSubstr("it looks like "));
      EXPECT_THAT(sink.error().remedy, HasSubstr("--output"));
    }
    EXPECT_EQ(*read_file(path), text);
  }
}
TEST(ResultSink, FreshStartsAnew) {
  Folder folder;
  std::string before = written(folder.path("o"), {verdict("a", 0, 'a')});
  auto sink = open(folder.path("o"), true);
  ASSERT_TRUE(sink);
  EXPECT_FALSE(is_done(*sink, verdict("a", 0, 'a')));
  EXPECT_EQ(*read_file(folder.path("o")), "");
  EXPECT_EQ(*read_file(folder.path("o.1")), before);
}
TEST(ResultSink, EachFreshStartKeepsItsOwnBackup) {
  Folder folder;
  for (char id : {'a', 'b', 'c'}) {
    auto sink = open(folder.path("o"), true);
    ASSERT_TRUE(sink) << sink.error().what;
    ASSERT_TRUE(sink->write(verdict(std::string(1, id), 0, id), {}));
  }
  EXPECT_THAT(*read_file(folder.path("o.1")), HasSubstr(R"("id":"a")"));
  EXPECT_THAT(*read_file(folder.path("o.2")), HasSubstr(R"("id":"b")"));
  EXPECT_THAT(*read_file(folder.path("o")), HasSubstr(R"("id":"c")"));
}
TEST(ResultSink, AFullDiskIsAnErrorOfTheVerdictThatIsLost) {
  auto sink = open("/dev/full");
  ASSERT_TRUE(sink) << sink.error().what;
  auto written = sink->write(verdict("a", 0, 'a'), {});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().what, "cannot write /dev/full: No space left on device");
  EXPECT_FALSE(is_done(*sink, verdict("a", 0, 'a')));
}
TEST(ResultSink, TwoRunsDoNotShareAFile) {
  Folder folder;
  auto first = open(folder.path("o"));
  EXPECT_FALSE(open(folder.path("o")));
}
TEST(ResultSink, AFolderThatIsMissing) {
  EXPECT_FALSE(open("/no/such/folder/o"));
}

TEST(OutputLine, CarriedFieldsStandBesideTheVerdicts) {
  EXPECT_EQ(output_object(verdict("a", 0, 'a'), {{"mine", 1}}).at("mine"), 1);
}
TEST(OutputLine, ACollidingOneGoesUnderCarried) {
  auto line = output_object(verdict("a", 0, 'a'), {{"status", "x"}, {"carried", 2}});
  EXPECT_EQ(line.at("status"), "correct");
  EXPECT_EQ(line.at("carried").at("status"), "x");
  EXPECT_EQ(line.at("carried").at("carried"), 2);
}

}  // namespace
}  // namespace kw
