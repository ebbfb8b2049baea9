// Clones of a local bare repository, which each test makes with the system's git.
#include "dataset/fetch/git_clone.h"

#include <gmock/gmock.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/core/files.h"
#include "base/core/text.h"
#include "base/process/child.h"
#include "dataset/collect/collect.h"
#include "dataset/collect/origin.h"

namespace kw::fetch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class GitClone : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "kw-git-XXXXXX").string();
    root_ = mkdtemp(name.data());
    git({"init", "--quiet", "--initial-branch=main", work().string()});
    git({"init", "--quiet", "--bare", "--initial-branch=main", bare().string()});
    put("LICENSE", "MIT");
    first_ = commit("kernel.py", "first = 1\n");
    git_in({"tag", "-a", "v1", "-m", "first"});
    second_ = commit("kernel.py", "second = 2\n");
    push();
  }
  void TearDown() override { fs::remove_all(root_); }

  fs::path work() const { return root_ / "work"; }
  fs::path bare() const { return root_ / "kernels.git"; }
  void put(const std::string& name, const std::string& bytes) {
    fs::create_directories((work() / name).parent_path());
    ASSERT_TRUE(write_file(work() / name, bytes));
  }

  std::string git(const std::vector<std::string>& arguments) {
    std::vector<std::string> argv{"git", "-c", "user.name=Test", "-c", "user.email=test@localhost"};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    auto started = process::start_helper(argv);
    EXPECT_TRUE(started);
    std::string text(1 << 12, '\0');
    const ssize_t count = ::read(started->second.get(), text.data(), text.size());
    text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    const auto done = started->first.finish();
    EXPECT_TRUE(done) << (done ? "" : done.error().what);
    return std::string(trim(text));
  }
  std::string git_in(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"-C", work().string()});
    return git(arguments);
  }
  std::string commit_all() {
    git_in({"add", "--all"});
    git_in({"commit", "--quiet", "-m", "change"});
    return git_in({"rev-parse", "HEAD"});
  }
  std::string commit(const std::string& name, const std::string& bytes) {
    put(name, bytes);
    return commit_all();
  }
  void push() {
    git_in({"push", "--quiet", "--all", bare().string()}),
        git_in({"push", "--quiet", "--tags", bare().string()});
  }

  Result<Clone> cloned(const std::string& revision, const GitLimits& limits = {}) {
    auto source = parse_git_source(bare().string() + (revision.empty() ? "" : "@" + revision));
    if (!source) return std::unexpected(source.error());
    return clone(*source, {.cache = root_ / "cache", .limits = limits, .stop = {}});
  }
  static std::string text_of(const fs::path& path) { return read_file(path).value_or("missing"); }

  fs::path root_;
  std::string first_;
  std::string second_;
};

TEST_F(GitClone, ACommit) {
  const auto got = cloned(first_);
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_EQ(got->commit, first_);
  EXPECT_EQ(text_of(got->folder / "kernel.py"), "first = 1\n");
  const auto origin = collect::identify(got->folder.string());
  ASSERT_TRUE(origin);
  EXPECT_EQ(origin->kind, corpus::OriginKind::git);
  EXPECT_EQ(origin->name, "kernels");
  EXPECT_EQ(origin->commit, first_);
}

TEST_F(GitClone, ABranchIsResolvedToItsCommit) {
  const auto got = cloned("main");
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_EQ(got->commit, second_);
  EXPECT_EQ(got->pinned, bare().string() + "@" + second_);
}

TEST_F(GitClone, AnAnnotatedTagIsResolvedToItsCommit) {
  const auto got = cloned("v1");
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_EQ(got->commit, first_);
}

TEST_F(GitClone, WithoutARevisionItIsHead) {
  const auto got = cloned("");
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_EQ(got->commit, second_);
}

TEST_F(GitClone, ACommitInTheCacheNeedsNoRepository) {
  const auto got = cloned(first_);
  ASSERT_TRUE(got) << got.error().what;
  fs::remove_all(bare() / "objects");
  const auto again = cloned(first_);
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(again->folder, got->folder);
}

TEST_F(GitClone, AMissingCommitIsNamed) {
  const std::string missing(40, 'a');
  const auto got = cloned(missing);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().what, fmt::format("cannot clone {}: it has no commit {}", bare().string(), missing));
}

TEST_F(GitClone, AMissingBranchIsNamed) {
  const auto got = cloned("no-such-branch");
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().what, HasSubstr("it has no branch and no tag no-such-branch"));
}

TEST_F(GitClone, ABranchAndATagOfOneNameMustBeTold) {
  git_in({"branch", "v1"});
  push();
  const auto got = cloned("v1");
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().what,
              HasSubstr(fmt::format("v1 is a branch at {} and a tag at {}", second_, first_)));
}

TEST_F(GitClone, ATagObjectIsNoCommit) {
  const auto got = cloned(git_in({"rev-parse", "refs/tags/v1"}));
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().what, HasSubstr("is a tag, no commit"));
}

TEST_F(GitClone, AFolderThatIsNoRepository) {
  fs::create_directories(root_ / "plain");
  const auto source = parse_git_source((root_ / "plain").string());
  ASSERT_TRUE(source);
  const auto got = clone(*source, {.cache = root_ / "cache", .limits = {}, .stop = {}});
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().what, HasSubstr("does not appear to be a git repository"));
}

TEST_F(GitClone, AFailureLeavesNothingInTheCache) {
  ASSERT_FALSE(cloned(std::string(40, 'a')));
  EXPECT_TRUE(fs::is_empty(root_ / "cache"));
}

TEST_F(GitClone, FilesBeyondTheLimitAreNotWritten) {
  const std::string commit_of_large = commit("large.py", std::string(4 << 20, '#'));
  push();
  const auto got = cloned(commit_of_large, {.bytes = 1 << 20});
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().what, HasSubstr("more than 1048576"));
}

TEST_F(GitClone, TheTimeIsLimited) {
  const auto got = cloned("main", {.time = std::chrono::seconds(0)});
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().what, HasSubstr("it takes more than 0 s"));
}

TEST_F(GitClone, ALinkOutOfTheTreeIsNotFollowed) {
  ASSERT_TRUE(write_file(root_ / "secret.py", "secret = 1\n"));
  fs::create_symlink(root_ / "secret.py", work() / "link.py");
  fs::create_directory_symlink("../..", work() / "up");
  const auto got = cloned((commit_all(), push(), "main"));
  ASSERT_TRUE(got) << got.error().what;
  std::vector<std::string> taken;
  std::vector<std::string> skipped;
  collect::Sink sink;
  sink.take = [&](corpus::SourceFile file) { taken.push_back(file.path); };
  sink.skip = [&](collect::Skipped each) { skipped.push_back(each.path + ": " + each.reason); };
  ASSERT_TRUE(collect::collect(got->folder.string(), {}, sink));
  EXPECT_THAT(taken, testing::ElementsAre("LICENSE", "kernel.py"));
  EXPECT_THAT(skipped, testing::ElementsAre("link.py: link", "up: link"));
}

TEST_F(GitClone, NoHookAndNoFilterOfTheRepositoryRuns) {
  put(".gitattributes", "*.py filter=lfs working-tree-encoding=UTF-8\n");
  const std::string pinned = commit("weights.py", "version https://git-lfs.github.com/spec/v1\n");
  push();
  const fs::path mark = root_ / "ran";
  for (const char* hook : {"post-checkout", "pre-upload-pack", "reference-transaction"}) {
    const fs::path file = bare() / "hooks" / hook;
    fs::create_directories(file.parent_path());
    ASSERT_TRUE(write_file(file, "#!/bin/sh\ntouch " + mark.string() + "\n"));
    fs::permissions(file, fs::perms::owner_all);
  }
  const auto got = cloned(pinned);
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_FALSE(fs::exists(mark));
  EXPECT_FALSE(fs::exists(got->folder / ".git/hooks"));
  EXPECT_EQ(text_of(got->folder / "weights.py"), "version https://git-lfs.github.com/spec/v1\n");
}

TEST_F(GitClone, TheUsersConfigurationChangesNoBytes) {
  ASSERT_TRUE(
      write_file(root_ / ".gitconfig", "[core]\n\tautocrlf = true\n\thooksPath = " + work().string() + "\n"));
  const std::string home = std::getenv("HOME") ? std::getenv("HOME") : "";
  ::setenv("HOME", root_.c_str(), 1);
  const auto got = cloned(first_);
  ::setenv("HOME", home.c_str(), 1);
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_EQ(text_of(got->folder / "kernel.py"), "first = 1\n");
}

TEST_F(GitClone, TheRepositoryAroundItIsNotRead) {
  git({"init", "--quiet", root_.string()});
  git({"-C", root_.string(), "config", "url./nowhere/.insteadOf", bare().string()});
  const fs::path before = fs::current_path();
  fs::current_path(root_);
  const auto got = cloned("main");
  fs::current_path(before);
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_EQ(got->commit, second_);
}

TEST_F(GitClone, SubmodulesAreNotFetched) {
  git_in({"-c", "protocol.file.allow=always", "submodule", "--quiet", "add", bare().string(), "sub"});
  const std::string pinned = commit_all();
  push();
  const auto got = cloned(pinned);
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_TRUE(fs::is_empty(got->folder / "sub"));
}

}  // namespace
}  // namespace kw::fetch
