#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>
#include <vector>

#include "base/files.h"
#include "home.h"
#include "schema/enums.h"

namespace kw {
namespace {

TEST(Enums, EveryErrorClassComesBackFromItsName) {
  for (int i = 0; i <= static_cast<int>(ErrorClass::infrastructure); ++i) {
    auto value = static_cast<ErrorClass>(i);
    EXPECT_EQ(from_string<ErrorClass>(to_string(value)), value);
  }
}

TEST(Enums, KeywordsAreSpeltAsTheContractHasThem) {
  EXPECT_EQ(to_string(Stage::static_), "static");
  EXPECT_EQ(to_string(Stage::import_), "import");
  EXPECT_EQ(to_string(Trust::in_process), "in-process");
}

template <typename Enum>
std::vector<std::string> words() {
  std::vector<std::string> found;
  while (true) {
    std::string_view word = to_string(static_cast<Enum>(found.size()));
    if (word.empty()) return found;
    found.emplace_back(word);
  }
}

// Those of the "enum" at this place of docs/verdict.schema.json.
std::vector<std::string> schema_words(const char* place) {
  static const auto schema = boost::json::parse(read_file(source_file("docs/verdict.schema.json")).value());
  std::vector<std::string> found;
  for (const auto& word : schema.at_pointer(std::string(place) + "/enum").as_array())
    if (word.is_string()) found.emplace_back(word.get_string());
  return found;
}

TEST(Enums, AreTheSchemasWordsInTheirOrder) {
  EXPECT_EQ(words<Status>(), schema_words("/properties/status"));
  EXPECT_EQ(words<Stage>(), schema_words("/$defs/stage"));
  EXPECT_EQ(words<Fault>(), schema_words("/properties/fault"));
  EXPECT_EQ(words<ErrorClass>(), schema_words("/properties/error_class"));
  EXPECT_EQ(words<CountsReason>(), schema_words("/properties/counts_reason"));
  EXPECT_EQ(words<Shapes>(), schema_words("/properties/shapes"));
  EXPECT_EQ(words<Trust>(), schema_words("/properties/trust"));
  EXPECT_EQ(words<IsolationLevel>(), schema_words("/properties/isolation/properties/level"));
}

TEST(Enums, AnUnknownNameIsNothing) {
  EXPECT_EQ(from_string<Status>("splendid"), std::nullopt);
}

}  // namespace
}  // namespace kw
