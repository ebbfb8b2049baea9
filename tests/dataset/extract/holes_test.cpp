#include "dataset/extract/harvest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw::harvest {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> holes(const std::string& region, corpus::Span function, Language language) {
  std::vector<std::string> found;
  for (const HoleSpan& hole : hole_spans(region, function, language))
    found.push_back(hole.node + ": " + region.substr(hole.middle.begin, hole.middle.end - hole.middle.begin));
  return found;
}

std::vector<std::string> holes(const std::string& code, Language language) {
  return holes(code, {0, code.size()}, language);
}

TEST(Holes, AreBlocksExpressionsAndCallsInTheOrderOfTheSource) {
  EXPECT_THAT(
      holes("@j(1)\ndef f(x=g()):\n    for i in range(x):\n        a = i + h(i)\n    return a\n",
            Language::python),
      ElementsAre("call: range(x)", "block:         a = i + h(i)", "expression: i + h(i)", "call: h(i)"));
}

TEST(Holes, OfAnIndentedFunctionCountTheRegion) {
  std::string region = "class A:\n    def f(self):\n        return g(1)\n";
  EXPECT_THAT(holes(region, {13, region.size()}, Language::python), ElementsAre("expression: g(1)"));
}

TEST(Holes, AreRunsOfStatementsInLongBodies) {
  EXPECT_THAT(holes("def f(x):\n    pass\n    break\n    pass\n    break\n", Language::python),
              ElementsAre("block:     pass\n    break", "block:     pass\n    break"));
}

TEST(Holes, AreFoundInCuda) {
  EXPECT_THAT(
      holes("__global__ void f(int n) {\n  if (n) {\n    n = n + 1;\n  }\n  g(n);\n}\n", Language::cuda),
      ElementsAre("block:     n = n + 1;", "expression: n + 1", "call: g(n)"));
}

TEST(Holes, AreNoneWhereNothingCanBeParsed) {
  EXPECT_THAT(holes("not a function", Language::python), IsEmpty());
  EXPECT_THAT(hole_spans("def f(): g()", {5, 900}, Language::python), IsEmpty());
}

}  // namespace
}  // namespace kw::harvest
