// The SARIF log, held to the parts of SARIF 2.1.0 that code scanning reads.
#include "verify/explain/sarif.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <set>

#include "base/core/display.h"
#include "base/core/text.h"
#include "findings_world.h"

namespace kw::explain {
namespace {

namespace json = boost::json;
using testing::HasSubstr;
using testing::Not;

json::value run_of(const Findings& findings, const SarifRun& run = {"1.2.3"}) {
  return json::parse(to_sarif(findings, run)).at("runs").at(0);
}
std::string text_of(const json::value& value) {
  return std::string(value.as_string());
}

TEST(Sarif, ALogHasOneRunWithItsDriver) {
  const json::value log = json::parse(to_sarif(all({}), {"1.2.3"}));
  EXPECT_EQ(log.at("version"), "2.1.0");
  ASSERT_EQ(log.at("runs").as_array().size(), 1U);
  const json::value& driver = log.at("runs").at(0).at("tool").at("driver");
  EXPECT_EQ(driver.at("name"), "Kernelwright");
  EXPECT_EQ(driver.at("version"), "1.2.3");
  EXPECT_EQ(log.at("runs").at(0).at("results").as_array().size(), 0U);
  EXPECT_EQ(log.at("runs").at(0).at("invocations").at(0).at("executionSuccessful"), true);
}
TEST(Sarif, AResultNamesItsRuleItsPlaceAndItsNumbers) {
  const json::value run = run_of(all({found(out_of_bounds)}));
  const json::value& result = run.at("results").at(0);
  EXPECT_EQ(result.at("ruleId"), "out_of_bounds");
  EXPECT_EQ(result.at("level"), "error");
  const std::size_t index = result.at("ruleIndex").to_number<std::size_t>();
  EXPECT_EQ(run.at("tool").at("driver").at("rules").at(index).at("id"), "out_of_bounds");
  const json::value& place = result.at("locations").at(0).at("physicalLocation");
  EXPECT_EQ(place.at("artifactLocation"),
            (json::value{{"uri", "kernels/relu.py"}, {"uriBaseId", "%SRCROOT%"}}));
  EXPECT_EQ(place.at("region"),
            (json::value{{"startLine", 8}, {"startColumn", 9}, {"endLine", 8}, {"endColumn", 16}}));
  EXPECT_EQ(result.at("properties").at("status"), "failed");
  EXPECT_TRUE(result.at("properties").at("counts").is_null());
  EXPECT_TRUE(result.at("properties").at("speedup").is_null());
  EXPECT_THAT(text_of(result.at("message").at("text")),
              testing::StartsWith("A kernel reads or writes outside of its tensors.\n"
                                  "relu: failed (out_of_bounds)\nout-of-bounds load in double\nhelp: "));
}
TEST(Sarif, AFindingAboutAWholeFileIsAtItsFirstLine) {
  const json::value run = run_of(all({found(incorrect(ErrorClass::wrong_value, "differs"))}));
  EXPECT_EQ(run.at("results").at(0).at("locations").at(0).at("physicalLocation").at("region"),
            (json::value{{"startLine", 1}}));
}
TEST(Sarif, EveryRuleHasADescriptionHelpAndALevel) {
  const std::set<std::string> levels{"error", "warning", "note", "none"};
  const json::value run = run_of(all({}));
  const json::array& rules = run.at("tool").at("driver").at("rules").as_array();
  EXPECT_EQ(rules.size(), all_rules().size());
  for (const json::value& rule : rules) {
    EXPECT_FALSE(rule.at("shortDescription").at("text").as_string().empty());
    EXPECT_FALSE(rule.at("help").at("text").as_string().empty());
    EXPECT_TRUE(levels.contains(text_of(rule.at("defaultConfiguration").at("level"))));
  }
}
TEST(Sarif, EqualFindingsOfAFileHaveDifferentFingerprints) {
  const json::value run = run_of(all({found(out_of_bounds), found(out_of_bounds)}));
  EXPECT_NE(run.at("results").at(0).at("partialFingerprints"),
            run.at("results").at(1).at("partialFingerprints"));
}
TEST(Sarif, ANameIsNoSchemeQueryOrFragment) {
  auto uri = [](const std::string& path) {
    const json::value run = run_of(all({found(out_of_bounds, code, {{path, 1, false}, {}})}));
    return text_of(run.at("results")
                       .at(0)
                       .at("locations")
                       .at(0)
                       .at("physicalLocation")
                       .at("artifactLocation")
                       .at("uri"));
  };
  EXPECT_EQ(uri("javascript:alert(1).py"), "javascript%3Aalert%281%29.py");
  EXPECT_EQ(uri("a b?c#d%e\n.py"), "a%20b%3Fc%23d%25e%0A.py");
  EXPECT_EQ(uri("-rf/\xff.py"), "-rf/%FF.py");
  EXPECT_EQ(uri("/elsewhere/a b.py"), "file:///elsewhere/a%20b.py");
}
TEST(Sarif, TextOfACandidateIsNoLinkAndNoPlaceholder) {
  const json::value run =
      run_of(all({found(failed(ErrorClass::runtime_error, Stage::run,
                               "see [docs](https://evil.example) {0} {12} {x} \x1b[2J\u202e"))}));
  const std::string text = text_of(run.at("results").at(0).at("message").at("text"));
  EXPECT_THAT(text, HasSubstr("see [docs] (https://evil.example) {{0}} {{12}} {x}"));
  EXPECT_THAT(text, HasSubstr("<U+202E>"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}
TEST(Sarif, AHugeErrorIsCut) {
  Verdict loud = failed(ErrorClass::runtime_error, Stage::run, std::string(10'000'000, 'x'), 8);
  loud.id = std::string(10'000'000, 'y');
  loud.error_detail->compiler_text = std::string(10'000'000, 'z');
  EXPECT_LT(to_sarif(all({found(loud)}), {"1"}).size(), 30'000U);
}
TEST(Sarif, BadRowsAreNotifications) {
  Findings findings = all({});
  Place row = place_of("tasks.jsonl", "/checkout");
  row.line = 3;
  findings.add_bad_row("tasks.jsonl, row 3: not JSON", row);
  const json::value run = run_of(findings, {"1", false});
  const json::value& invocation = run.at("invocations").at(0);
  EXPECT_EQ(invocation.at("executionSuccessful"), false);
  const json::value& notification = invocation.at("toolExecutionNotifications").at(0);
  EXPECT_EQ(notification.at("level"), "error");
  EXPECT_EQ(notification.at("message").at("text"), "tasks.jsonl, row 3: not JSON");
  EXPECT_EQ(notification.at("locations").at(0).at("physicalLocation").at("region").at("startLine"), 3);
}
TEST(Sarif, KeepsTheLimitsOfCodeScanning) {
  Findings findings(most_sarif_results);
  const Finding note = found(verdict(Status::skipped, Stage::run));
  Finding loud = found(out_of_bounds);
  for (std::size_t i = 0; i < 5'000; ++i) findings.add(note);
  for (std::size_t i = 0; i < 24'000; ++i) {
    loud.details = fmt::format("{:0>1400}", i);
    findings.add(loud);
  }
  const std::string log = to_sarif(findings, {"1"});
  const json::value run = json::parse(log).at("runs").at(0);
  const json::array& results = run.at("results").as_array();
  ASSERT_EQ(results.size(), most_sarif_results);
  EXPECT_EQ(results.at(23'999).at("level"), "error");
  EXPECT_EQ(results.at(24'000).at("level"), "note");
  std::size_t foreign = 0;
  for (const json::value& result : results)
    if (result.at("message").at("text").as_string().size() > 1'400) foreign += 1'400;
  EXPECT_LE(foreign, 4'000'000U);
  const json::array& told = run.at("invocations").at(0).at("toolExecutionNotifications").as_array();
  ASSERT_EQ(told.size(), 2U);
  EXPECT_THAT(text_of(told.at(0).at("message").at("text")), HasSubstr("4000 results are left out"));
  EXPECT_THAT(text_of(told.at(1).at("message").at("text")), HasSubstr("lack their details"));
}

}  // namespace
}  // namespace kw::explain
