#include "report/model/columns.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <limits>

#include "report/model/index.h"

namespace kw::report {
namespace {

std::string json_of(const boost::json::value& value) {
  return boost::json::serialize(value);
}

TEST(Columns, StoreARepeatedWordOnce) {
  WordColumn column;
  for (int i = 0; i < 3; ++i) column.add();
  column.set(0, "right");
  column.set(2, "right");
  EXPECT_EQ(json_of(column.to_json()), R"({"words":["right"],"at":[0,-1,0]})");
  EXPECT_EQ(column[1], "");
}

TEST(Columns, OfWordsAreIndependentOfTheirCopies) {
  WordColumn column;
  column.add();
  column.set(0, "a");
  WordColumn copy = column;
  column.set(0, "b");
  WordColumn moved = std::move(column);
  EXPECT_EQ(copy[0], "a");
  EXPECT_EQ(moved[0], "b");
}

TEST(Columns, OfChangedWordsKeepDifferentValuesApart) {
  WordColumn column;
  for (const char* word : {"/a/b", "/a/c", "/a/b", "[path]"}) {
    column.add();
    column.set(column.size() - 1, word);
  }
  column.add();
  column.change([](std::string_view) { return "[path]"; });
  EXPECT_EQ(column[0], "[path]");
  EXPECT_EQ(column[1], "[path] (2)");
  EXPECT_EQ(column[2], "[path]");
  EXPECT_EQ(column[3], "[path] (3)");
  EXPECT_TRUE(column.is_null(4));
}

TEST(Columns, MakeInvalidUtf8Valid) {
  WordColumn words;
  words.add();
  words.set(0, "a\xFF");
  EXPECT_EQ(words[0], "a\xEF\xBF\xBD");
  TextColumn texts;
  texts.add();
  texts.set(0, "\xC0");
  EXPECT_EQ(texts[0], "\xEF\xBF\xBD");
}

TEST(Columns, HaveNullForWhatIsNoNumber) {
  NumberColumn column;
  for (double value :
       {1.5, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    column.add();
    column.set(column.size() - 1, value);
  }
  EXPECT_EQ(json_of(column.to_json()), "[1.5E0,null,null]");
}

TEST(Columns, OfWholeNumbersAndFlagsKeepNull) {
  WholeColumn whole;
  FlagColumn flag;
  for (int i = 0; i < 2; ++i) {
    whole.add();
    flag.add();
  }
  whole.set(1, 7);
  flag.set(1, false);
  EXPECT_EQ(json_of(whole.to_json()), "[null,7]");
  EXPECT_EQ(json_of(flag.to_json()), "[null,false]");
}

TEST(Columns, OfATableHaveOneLength) {
  Rows rows;
  rows.add();
  rows.task_id.set(rows.add(), "t");
  Rows copy;
  copy.add_from(rows, 1);
  EXPECT_EQ(copy.task_id[0], "t");
  boost::json::object table = to_json(rows);
  EXPECT_EQ(table["count"], 2);
  for (const auto& [name, column] : table["columns"].as_object()) {
    const boost::json::value& values = column.is_object() ? column.as_object().at("at") : column;
    EXPECT_EQ(values.as_array().size(), 2U) << name;
  }
}

}  // namespace
}  // namespace kw::report
