// JSON values: what is read and written again stays the same.
#include "base/core/json.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cmath>
#include <random>
#include <string>

namespace kw {
namespace {

namespace json = boost::json;

std::string again(const std::string& text) {
  auto value = parse_json(text);
  return value ? json::serialize(*value) : value.error().what;
}

// This number and a tenth of all others came back as a neighbour: 109.615552.
TEST(ParseJson, AStoredDurationStaysTheSame) {
  EXPECT_EQ(again(R"({"run":1.0961555200000001E2})"), R"({"run":1.0961555200000001E2})");
  EXPECT_EQ(parse_json("109.61555200000001")->get_double(), 109.61555200000001);
}

TEST(ParseJson, EveryDoubleIsTheNearestOne) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-300, 300);
  for (int round = 0; round < 10'000; ++round) {
    double number = std::pow(10, exponent(random)) * (round % 2 ? 1 : -1);
    json::array text{number};
    EXPECT_EQ(parse_json(json::serialize(text))->get_array()[0].get_double(), number);
  }
}

TEST(ParseJson, NumbersKeepTheirKinds) {
  EXPECT_EQ(again("[-1,0,9223372036854775807,18446744073709551615]"),
            "[-1,0,9223372036854775807,18446744073709551615]");
  EXPECT_TRUE(parse_json("[3.0]")->get_array()[0].is_double());
  EXPECT_TRUE(std::isinf(parse_json("[1e400]")->get_array()[0].get_double()));
  EXPECT_EQ(parse_json("[-1e-400]")->get_array()[0].get_double(), 0);
}

TEST(ParseJson, AValueOfEveryKindIsBuilt) {
  const std::string text =
      R"({"a":[null,true,false,"\"é\n",{}],"":{"b":[[],1]},"long":")" + std::string(5000, 'x') + "\"}";
  EXPECT_EQ(again(text), text);
  EXPECT_EQ(again("7"), "7");
  EXPECT_EQ(again("  \"x\"  "), "\"x\"");
}

TEST(ParseJson, AnErrorNamesTheByte) {
  for (const char* text : {"", "{", "[1,]", "nul", "[1] 2", "\"\xff\"", "01", "1e", "-"}) {
    auto value = parse_json(text);
    ASSERT_FALSE(value) << text;
    EXPECT_NE(value.error().what.find("at byte"), std::string::npos) << value.error().what;
  }
  EXPECT_NE(parse_json("[1] 2").error().what.find("at byte 4"), std::string::npos)
      << parse_json("[1] 2").error().what;
}

TEST(IntegerOf, AWholeNumberIsAnIntegerAndItsNeighbourIsNot) {
  EXPECT_EQ(integer_of(*parse_json("3.0")), 3);
  EXPECT_EQ(integer_of(*parse_json("3.0000000000000004")), std::nullopt);
  EXPECT_EQ(integer_of(*parse_json("1e30")), std::nullopt);
}

}  // namespace
}  // namespace kw
