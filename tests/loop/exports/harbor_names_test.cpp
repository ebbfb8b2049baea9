#include "loop/exports/harbor_names.h"

#include <gtest/gtest.h>

#include <set>

namespace kw::exports {
namespace {

using Names = std::vector<std::string>;

TEST(HarborNames, APlainIdKeepsItsWords) {
  EXPECT_EQ(*harbor_names({"kernelbench/1/19", "sample/rowsum", "Net_2.b"}),
            (Names{"kernelbench-1-19", "sample-rowsum", "net_2.b"}));
}

TEST(HarborNames, IdsThatWouldShareANameGetAHash) {
  auto names = *harbor_names({"a/b", "a-b", "A/B", "c"});
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 4U);
  for (std::size_t at : {0U, 1U, 2U}) EXPECT_TRUE(names[at].starts_with("a-b-")) << names[at];
  EXPECT_EQ(names[3], "c");
}

TEST(HarborNames, HostileIdsStayInTheFolder) {
  Names ids = {"../x",
               "..",
               "",
               "/",
               "a/../../b",
               std::string(300, 'x'),
               std::string(300, 'x') + "y",
               "täsk",
               "任务",
               "a\nb",
               "-rf",
               ".hidden",
               "con",
               "NUL.txt",
               "a b",
               "end.",
               "$(x)",
               std::string("a\0b", 3)};
  auto names = *harbor_names(ids);
  std::set<std::string> different(names.begin(), names.end());
  EXPECT_EQ(different.size(), ids.size());
  for (const std::string& name : names) {
    EXPECT_TRUE(is_harbor_org(name.substr(0, 60))) << name;
    EXPECT_LE(name.size(), 80U);
    EXPECT_FALSE(name.contains("..")) << name;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_."), std::string::npos) << name;
  }
}

TEST(HarborNames, AnIdCannotTakeTheNameOfAnother) {
  std::string taken = harbor_names({"a b"})->front();
  auto names = *harbor_names({"a b", taken});
  EXPECT_EQ(names[0], taken);
  EXPECT_NE(names[1], taken);
}

TEST(HarborNames, NamesDoNotDependOnTheOrder) {
  auto one = *harbor_names({"a/b", "a-b", "ä"});
  auto other = *harbor_names({"ä", "a-b", "a/b"});
  EXPECT_EQ(one, (Names{other[2], other[1], other[0]}));
}

TEST(HarborNames, AnOrganisationIsOneWord) {
  EXPECT_TRUE(is_harbor_org("my-lab.org"));
  for (const char* bad : {"", "a/b", "a b", ".a", "-a", "a..b", "ä"}) EXPECT_FALSE(is_harbor_org(bad)) << bad;
}

}  // namespace
}  // namespace kw::exports
