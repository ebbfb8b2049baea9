// The labels of answers and the log that stores them.
#include "types/review.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <thread>

#include "base/core/files.h"
#include "support/world.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

ReviewEntry entry(const std::string& key, const std::string& reviewer, std::optional<ReviewLabel> label) {
  return {{key, "task of " + key, "code of " + key, ""}, reviewer, label, "note", "2026-01-01T00:00:00Z"};
}

TEST(ReviewLabel, AcceptsRejectsOrDecidesNothing) {
  EXPECT_EQ(accepts(ReviewLabel::good), true);
  EXPECT_EQ(accepts(ReviewLabel::keep), true);
  EXPECT_EQ(accepts(ReviewLabel::suspicious), false);
  EXPECT_EQ(accepts(ReviewLabel::unsure), std::nullopt);
}

TEST(ReviewLog, LiesBesideItsInput) {
  Folder folder;
  folder.write("x.run/run.db", "");
  EXPECT_EQ(review_log_path(folder.path("x.run")), folder.path("x.run/review.jsonl"));
  EXPECT_EQ(review_log_path(folder.path("x.run/run.db")), folder.path("x.run/review.jsonl"));
  EXPECT_EQ(review_log_path(folder.path("traces.json")), folder.path("traces.json.review.jsonl"));
}

TEST(ReviewLog, IsEmptyWithoutAFile) {
  Folder folder;
  auto log = read_review_log(folder.path("review.jsonl"));
  ASSERT_TRUE(log);
  EXPECT_THAT(log->entries, IsEmpty());
}

TEST(ReviewLog, KeepsTheLatestLabelOfEachReviewer) {
  Folder folder;
  const fs::path path = folder.path("review.jsonl");
  ASSERT_TRUE(append_review(path, entry("a", "Ada", ReviewLabel::good)));
  ASSERT_TRUE(append_review(path, entry("a", "Bob", ReviewLabel::unreadable)));
  ASSERT_TRUE(append_review(path, entry("a", "Ada", ReviewLabel::suspicious)));
  auto log = read_review_log(path);
  ASSERT_TRUE(log);
  ASSERT_THAT(log->entries, SizeIs(2));
  EXPECT_EQ(log->entries[0].reviewer, "Bob");
  EXPECT_EQ(log->entries[1].label, ReviewLabel::suspicious);
  EXPECT_EQ(log->entries[1].answer.candidate_sha256, "code of a");
  EXPECT_THAT(log->problems, IsEmpty());
}

TEST(ReviewLog, WithdrawsALabel) {
  Folder folder;
  const fs::path path = folder.path("review.jsonl");
  ASSERT_TRUE(append_review(path, entry("a", "Ada", ReviewLabel::good)));
  ASSERT_TRUE(append_review(path, entry("a", "Ada", std::nullopt)));
  EXPECT_THAT(read_review_log(path)->entries, IsEmpty());
}

TEST(ReviewLog, RemembersADraw) {
  Folder folder;
  const fs::path path = folder.path("review.jsonl");
  ASSERT_TRUE(append_queue(path, {100, 42, {"b", "a"}, "2026-01-01T00:00:00Z"}));
  auto log = read_review_log(path);
  ASSERT_NE(log->queue(100, 42), nullptr);
  EXPECT_THAT(log->queue(100, 42)->keys, testing::ElementsAre("b", "a"));
  EXPECT_EQ(log->queue(100, 43), nullptr);
}

TEST(ReviewLog, GoesOnAfterALineThatACrashCutOff) {
  Folder folder;
  const fs::path path = folder.write("review.jsonl", R"({"key": "a", "reviewer": "A)");
  ASSERT_TRUE(append_review(path, entry("b", "Ada", ReviewLabel::good)));
  auto log = read_review_log(path);
  ASSERT_THAT(log->entries, SizeIs(1));
  EXPECT_EQ(log->entries[0].answer.key, "b");
  ASSERT_THAT(log->problems, SizeIs(1));
  EXPECT_THAT(log->problems[0], HasSubstr("line 1"));
}

TEST(ReviewLog, NamesLinesThatAreNoLabels) {
  Folder folder;
  const fs::path path = folder.write("review.jsonl",
                                     "[1]\n{\"key\": \"a\", \"label\": \"goood\"}\n{\"label\": \"good\"}\n\n"
                                     "{\"drawn\": 3}\n\xff\xfe\n");
  auto log = read_review_log(path);
  ASSERT_TRUE(log);
  EXPECT_THAT(log->entries, IsEmpty());
  EXPECT_THAT(log->problems, SizeIs(5));
}

TEST(ReviewLog, FollowsNoLink) {
  Folder folder;
  const fs::path victim = folder.write("victim", "precious");
  fs::create_symlink(victim, folder.path("review.jsonl"));
  EXPECT_FALSE(append_review(folder.path("review.jsonl"), entry("a", "Ada", ReviewLabel::good)));
  EXPECT_EQ(read_file(victim), "precious");
}

TEST(ReviewLog, IsNoPipeOrDevice) {
  Folder folder;
  const fs::path pipe = folder.path("review.jsonl");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(read_review_log(pipe));
  const fs::path device = folder.path("device");
  fs::create_symlink("/dev/zero", device);
  EXPECT_FALSE(read_review_log(device));
}

TEST(ReviewLog, HasItsOldLengthAfterAFailedWrite) {
  Folder folder;
  const fs::path path = folder.path("review.jsonl");
  ASSERT_TRUE(append_review(path, entry("a", "Ada", ReviewLabel::good)));
  const auto size = fs::file_size(path);
  auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  rlimit small{size + 10, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  auto stored = append_review(path, entry("b", "Ada", ReviewLabel::good));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, ignored);
  ASSERT_FALSE(stored);
  EXPECT_THAT(stored.error().what, HasSubstr("review.jsonl"));
  EXPECT_EQ(fs::file_size(path), size);
}

TEST(ReviewLog, KeepsAllLinesOfWritersAtTheSameTime) {
  Folder folder;
  const fs::path path = folder.path("review.jsonl");
  auto write = [&](const std::string& reviewer) {
    for (int i = 0; i < 20; ++i)
      ASSERT_TRUE(append_review(path, entry(std::to_string(i), reviewer, ReviewLabel::good)));
  };
  std::thread other(write, "Bob");
  write("Ada");
  other.join();
  auto log = read_review_log(path);
  EXPECT_THAT(log->entries, SizeIs(40));
  EXPECT_THAT(log->problems, IsEmpty());
}

TEST(ReviewLabels, AreFoundByTaskAndCodeAndByRow) {
  ReviewLog log;
  log.entries = {entry("a", "Ada", ReviewLabel::good),
                 entry("a", "Bob", ReviewLabel::suspicious),
                 {{"r", "", "", "row 7"}, "Ada", ReviewLabel::unsure, "", ""}};
  ReviewLabels labels(log);
  auto found = labels.of_answer("task of a", "code of a");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->label, ReviewLabel::suspicious);
  EXPECT_EQ(found->reviewers, 2U);
  EXPECT_FALSE(labels.of_answer("another task", "code of a"));
  EXPECT_EQ(labels.of_row("row 7")->label, ReviewLabel::unsure);
}

}  // namespace
}  // namespace kw
