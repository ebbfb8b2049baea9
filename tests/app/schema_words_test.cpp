// The enumerators in the published schemas are those of the enumerations.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <set>
#include <string>

#include "base/core/files.h"
#include "dataset/units/row.h"
#include "loop/refine/settings.h"
#include "score/report/output.h"
#include "score/report/read_outputs.h"
#include "score/report/review_sheet.h"
#include "serve/evaluation.h"
#include "serve/health.h"
#include "support/home.h"
#include "types/enums.h"
#include "types/evidence.h"
#include "types/options.h"
#include "types/sanitized.h"

namespace kw {
namespace {

using Words = std::set<std::string, std::less<>>;

template <typename Enum>
Words all() {
  return {enum_words<Enum>.begin(), enum_words<Enum>.end()};
}

Words with(Words words, const Words& others) {
  words.insert(others.begin(), others.end());
  return words;
}

Words without(Words words, std::string_view other) {
  words.erase(words.find(other));
  return words;
}

// The path of an "enum", and its values except null.
struct Listed {
  const char* file;
  std::string place;
  Words words;
};

const std::string record = "/properties/outputs/items/properties";

const Listed listed[] = {
    {"verdict.schema.json", "/properties/status", all<Status>()},
    {"verdict.schema.json", "/$defs/stage", all<Stage>()},
    {"verdict.schema.json", "/properties/fault", all<Fault>()},
    {"verdict.schema.json", "/properties/error_class", all<ErrorClass>()},
    {"verdict.schema.json", "/properties/counts_reason", all<CountsReason>()},
    {"verdict.schema.json", "/properties/shapes", all<Shapes>()},
    {"verdict.schema.json", "/properties/trust", all<Trust>()},
    {"verdict.schema.json", "/properties/isolation/properties/level", all<IsolationLevel>()},
    {"verdict.schema.json", "/$defs/evidence_trial/properties/path", all<TrialPath>()},
    {"verdict.schema.json", "/$defs/evidence_trial/properties/purpose", all<TrialPurpose>()},
    {"verdict.schema.json", "/$defs/sanitizer_check/properties/check", all<Sanitizer>()},
    {"verdict.schema.json", "/$defs/sanitizer_check/properties/outcome", all<SanitizerOutcome>()},
    {"verdict.schema.json", "/$defs/check_outcome", all<CheckOutcome>()},
    {"verdict.schema.json", "/$defs/fact_source", all<FactSource>()},
    {"dataset_row.schema.json", "/properties/kind", all<corpus::RowKind>()},
    {"dataset_row.schema.json", "/$defs/place/properties/kind", all<corpus::OriginKind>()},
    {"dataset_row.schema.json", "/properties/target", all<corpus::Target>()},
    {"dataset_row.schema.json", "/$defs/labels/properties/compile", all<corpus::CompileLabel>()},
    {"score.schema.json", "/properties/scored/properties/turns", all<scoring::Turns>()},
    {"score.schema.json", "/properties/review/properties/reviews/items/properties/label", all<ReviewLabel>()},
    // A record with JudgedBy::nobody has no verdict.
    {"score.schema.json", record + "/verdict/properties/by", without(all<scoring::JudgedBy>(), "nobody")},
    {"score.schema.json", record + "/verdict/properties/standing", all<score::Standing>()},
    {"score.schema.json", record + "/verdict/properties/status", with(all<Status>(), {"no_answer"})},
    {"score.schema.json", record + "/compile", with(all<corpus::CompileLabel>(), {"no_kernel"})},
    {"openapi.json", "/components/schemas/State", all<service::State>()},
    {"openapi.json", "/components/schemas/Health/properties/status", all<service::Condition>()},
    {"openapi.json", "/components/schemas/Service/properties/device", all<Device>()},
    {"openapi.json", "/components/schemas/PromptStyle", all<refine::PromptStyle>()},
    {"openapi.json", "/components/schemas/Verdict/properties/status", all<Status>()},
    {"openapi.json", "/components/schemas/Verdict/properties/fault", all<Fault>()},
    // The interpreter measures no time, so it cannot be requested.
    {"openapi.json", "/components/schemas/RewardTerms/properties/min_trust",
     without(all<Trust>(), "interpreter")},
};

class SchemaWords : public testing::TestWithParam<Listed> {};

TEST_P(SchemaWords, AreTheEnumerations) {
  const auto schema =
      boost::json::parse(read_file(source_file(fmt::format("docs/{}", GetParam().file))).value());
  Words found;
  for (const auto& word : schema.at_pointer(GetParam().place + "/enum").as_array())
    if (word.is_string()) found.emplace(word.get_string());
  EXPECT_EQ(found, GetParam().words) << GetParam().file << GetParam().place;
}

INSTANTIATE_TEST_SUITE_P(Docs, SchemaWords, testing::ValuesIn(listed));

}  // namespace
}  // namespace kw
