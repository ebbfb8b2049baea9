#include "dataset/fetch/git_source.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace kw::fetch {
namespace {

const std::string commit(40, 'a');

TEST(GitSource, AUrlAndItsCommit) {
  const auto source = parse_git_source("https://github.com/owner/kernels.git@" + commit);
  ASSERT_TRUE(source);
  EXPECT_EQ(source->url, "https://github.com/owner/kernels.git");
  EXPECT_EQ(source->revision, commit);
  EXPECT_EQ(source->name(), "kernels");
  EXPECT_FALSE(source->is_local);
}

TEST(GitSource, AUrlAlone) {
  const auto source = parse_git_source("https://github.com/owner/kernels");
  ASSERT_TRUE(source);
  EXPECT_EQ(source->revision, "");
}

TEST(GitSource, ABranchMayHaveASlash) {
  const auto source = parse_git_source("https://github.com/owner/kernels@release/1.0");
  ASSERT_TRUE(source);
  EXPECT_EQ(source->revision, "release/1.0");
}

TEST(GitSource, TheUserOfSshIsNoRevision) {
  for (const char* url : {"git@github.com:owner/kernels.git", "ssh://git@github.com/owner/kernels.git"}) {
    const auto source = parse_git_source(url);
    ASSERT_TRUE(source) << url;
    EXPECT_EQ(source->url, url);
    EXPECT_EQ(source->revision, "");
    const auto pinned = parse_git_source(url + ("@" + commit));
    ASSERT_TRUE(pinned) << url;
    EXPECT_EQ(pinned->url, url);
    EXPECT_EQ(pinned->revision, commit);
  }
}

TEST(GitSource, ALocalPathBecomesAbsolute) {
  const auto folder = std::filesystem::temp_directory_path() / "kw-git-source-test";
  std::filesystem::create_directories(folder);
  for (const std::string& text : {folder.string(), "file://" + folder.string(), folder.string() + "/"}) {
    const auto source = parse_git_source(text + "@v1");
    ASSERT_TRUE(source) << text;
    EXPECT_EQ(source->url, folder.string());
    EXPECT_EQ(source->revision, "v1");
    EXPECT_TRUE(source->is_local);
  }
  std::filesystem::remove(folder);
}

TEST(GitSource, HostileUrlsAreRefused) {
  for (const char* text : {"",
                           "-oProxyCommand=x",
                           "--upload-pack=touch /tmp/x",
                           "ext::sh -c id",
                           "ext::sh",
                           "fd::17",
                           "http://host/owner/repo",
                           "git://host/owner/repo",
                           "ftp://host/owner/repo",
                           "ext://host/repo",
                           "ssh://-oProxyCommand=x/repo",
                           "ssh://git@-oProxyCommand=x/repo",
                           "git@-oProxyCommand=x:repo",
                           "https:///repo",
                           "https://host",
                           "https://host/",
                           "https://host/..",
                           "https://host/owner/.git",
                           "https://host/owner/re po",
                           "https://host/owner/re\npo",
                           "https://host/owner/repo@-x",
                           "https://host/owner/repo@a..b",
                           "https://host/owner/repo@a:b",
                           "https://host/owner/repo@",
                           "https://host/owner/repo@{1}",
                           "file://host/path",
                           "/no/such/folder",
                           "no-such-folder@main"})
    EXPECT_FALSE(parse_git_source(text)) << text;
}

TEST(GitSource, ARefusalQuotesNoPassword) {
  const auto source = parse_git_source("https://user:hunter2@host/owner/repo");
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().what, "https://host/owner/repo: a URL may contain no credentials");
}

}  // namespace
}  // namespace kw::fetch
