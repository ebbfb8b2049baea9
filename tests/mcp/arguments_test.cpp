// The arguments of a tool: their schema, and errors that a model can act on.
#include "mcp/arguments.h"

#include <gmock/gmock.h>

#include <boost/json/array.hpp>

#include "mcp_world.h"

namespace kw::mcp::test {
namespace {

using testing::HasSubstr;

Arguments example() {
  return Arguments(
      "try",
      {{.name = "word", .description = "a word", .is_required = true, .most_bytes = 10},
       {.name = "style", .description = "how", .words = {"short", "long"}},
       {.name = "count", .kind = Argument::Kind::whole, .description = "how many", .least = 1, .most = 5},
       {.name = "full", .kind = Argument::Kind::flag, .description = "all"},
       {.name = "shapes", .kind = Argument::Kind::object, .description = "sizes"}});
}

std::string refusal(json::object given) {
  auto read = example().read(given);
  return read ? "" : read.error().what + "; " + read.error().remedy;
}

TEST(ArgumentSchema, AdmitsNoOtherMembers) {
  json::object schema = example().schema();
  EXPECT_EQ(schema.at("type"), "object");
  EXPECT_EQ(schema.at("additionalProperties"), false);
  EXPECT_EQ(schema.at("required"), json::array{"word"});
  EXPECT_EQ(schema.at("properties").at("count").at("maximum"), 5);
  EXPECT_EQ(schema.at("properties").at("style").at("enum"), json::value({"short", "long"}));
}

TEST(Argument, ThatIsUnknownIsRefusedWithTheNearest) {
  EXPECT_THAT(refusal({{"word", "a"}, {"cuont", 1}}), HasSubstr("did you mean `count`?"));
  EXPECT_THAT(refusal({{"word", "a"}, {"\xe2\x80\xae\n", 1}}), HasSubstr("<U+202E>"));
}

TEST(Argument, OfAnotherFormIsRefusedByName) {
  EXPECT_THAT(refusal({{"word", 1}}), HasSubstr("`word` is no text"));
  EXPECT_THAT(refusal({{"word", "longer than ten"}}), HasSubstr("the limit is 10"));
  EXPECT_THAT(refusal({{"word", "a"}, {"style", "broad"}}), HasSubstr("give one of short, long"));
  EXPECT_THAT(refusal({{"word", "a"}, {"count", 6}}), HasSubstr("from 1 to 5"));
  EXPECT_THAT(refusal({{"word", "a"}, {"count", "3"}}), HasSubstr("from 1 to 5"));
  EXPECT_THAT(refusal({{"word", "a"}, {"full", "yes"}}), HasSubstr("neither true nor false"));
  EXPECT_THAT(refusal({{"word", "a"}, {"shapes", "{}"}}), HasSubstr("not a text that contains one"));
  EXPECT_THAT(refusal({}), HasSubstr("try needs the argument `word`"));
}

TEST(Argument, ThatIsNullIsMissing) {
  auto read = example().read({{"word", "a"}, {"count", nullptr}});
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->contains("count"));
  EXPECT_THAT(refusal({{"word", nullptr}}), HasSubstr("needs the argument"));
}

TEST(Argument, MayBeAWholeNumberWithAPoint) {
  EXPECT_EQ(refusal({{"word", "a"}, {"count", 3.0}}), "");
}

}  // namespace
}  // namespace kw::mcp::test
