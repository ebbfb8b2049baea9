#include "dataset/fetch/catalogue.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "base/core/json.h"
#include "dataset/fetch/git_source.h"
#include "dataset/licence/licence.h"

namespace kw::fetch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ListedSource package(const std::string& archive) {
  return {.name = "some-kernels", .pin = "1.2", .archive = archive, .what = "Attention in Triton."};
}

TEST(Catalogue, TheProgramContainsIt) {
  const auto sources = catalogue();
  ASSERT_TRUE(sources) << sources.error().what;
  EXPECT_GE(sources->size(), 10u);
  EXPECT_TRUE(std::ranges::is_sorted(*sources, {}, &ListedSource::name));
}

TEST(Catalogue, ABuildAllowsEveryLicence) {
  const auto sources = catalogue();
  ASSERT_TRUE(sources);
  for (const ListedSource& source : *sources)
    EXPECT_TRUE(licence::allowed(source.licence, licence::permissive())) << source.name;
}

TEST(Catalogue, ABuildTakesEveryRepositoryAtItsCommit) {
  const auto sources = catalogue();
  ASSERT_TRUE(sources);
  for (const ListedSource& source : *sources) {
    if (source.kind != ListedKind::git) continue;
    const auto parsed = parse_git_source(source.url + "@" + source.pin);
    ASSERT_TRUE(parsed) << source.name;
    EXPECT_TRUE(is_full_commit(parsed->revision)) << source.name;
  }
}

TEST(Catalogue, AWordOfNameLanguageOrDescription) {
  ListedSource source = package("some_kernels-1.2-py3-none-any.whl");
  source.kernels = {.triton = 3};
  for (const char* word : {"", "SOME", "triton", "attention"}) EXPECT_TRUE(matches(source, word)) << word;
  for (const char* word : {"cuda", "1.2", "whl"}) EXPECT_FALSE(matches(source, word)) << word;
}

TEST(Catalogue, TheCommandsOfAWheel) {
  const ListedSource source = package("some_kernels-1.2-py3-none-any.whl");
  EXPECT_THAT(source.fetch_commands(),
              ElementsAre("pip download --no-deps --only-binary :all: some-kernels==1.2"));
  EXPECT_EQ(source.build_command(),
            "kernelwright dataset build --pypi some-kernels==1.2 --output some-kernels-set");
}

TEST(Catalogue, TheBuildOfAPackageComparesItsHash) {
  ListedSource source = package("some_kernels-1.2-py3-none-any.whl");
  source.sha256 = std::string(64, 'a');
  EXPECT_THAT(source.build_command(), HasSubstr("--pypi some-kernels==1.2#sha256=" + source.sha256 + " "));
}

TEST(Catalogue, NoCommandRunsCodeOfASourceDistribution) {
  EXPECT_THAT(package("some_kernels-1.2.tar.gz").fetch_commands(), IsEmpty());
}

TEST(Catalogue, TheCommandsOfARepository) {
  const ListedSource source{
      .name = "kernels", .kind = ListedKind::git, .pin = "abc", .url = "https://host/owner/Kernels"};
  EXPECT_THAT(source.fetch_commands(),
              ElementsAre("git clone https://host/owner/Kernels", "git -C Kernels checkout --detach abc"));
  EXPECT_EQ(source.build_command(),
            "kernelwright dataset build --git https://host/owner/Kernels@abc --output kernels-set");
}

TEST(Catalogue, ADamagedListIsAnError) {
  for (const char* text :
       {"", "{}", "[1]", R"([{"name": "x"}])", R"([{"name": "x", "kind": "svn", "pin": "1"}])"})
    EXPECT_FALSE(read_catalogue(text)) << text;
}

}  // namespace
}  // namespace kw::fetch
