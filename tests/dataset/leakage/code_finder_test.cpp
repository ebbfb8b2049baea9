#include "dataset/leakage/code_finder.h"

#include <gmock/gmock.h>

namespace kw::leak {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto python = near::Language::python;
constexpr const char* code = "def f(a, b, c):\n    total = a * b + c\n    return total - a\n";

TEST(CodeFinder, FindsCodeWithOtherCommentsAndLayout) {
  CodeFinder finder;
  ASSERT_TRUE(finder.add(code, python, 7));
  EXPECT_THAT(finder.find("x = 1\ndef f(a,b,c): # here\n  total = (a * b + c)\n  return total - a\n", python),
              IsEmpty());
  EXPECT_THAT(finder.find("x = 1\ndef f(a,b,c): # here\n  total=a*b+c\n\n  return total-a\ny = 2\n", python),
              ElementsAre(7));
}

TEST(CodeFinder, FindsNoCodeWithOtherNamesOrACutEnd) {
  CodeFinder finder;
  ASSERT_TRUE(finder.add(code, python, 7));
  EXPECT_THAT(finder.find("def g(a, b, c):\n    total = a * b + c\n    return total - a\n", python),
              IsEmpty());
  EXPECT_THAT(finder.find("def f(a, b, c):\n    total = a * b + c\n    return total -", python), IsEmpty());
}

TEST(CodeFinder, RefusesShortCode) {
  CodeFinder finder;
  EXPECT_FALSE(finder.add("return x + 1", python, 0));
  EXPECT_FALSE(finder.add(code, python, 0, 100));
  EXPECT_THAT(finder.find("return x + 1", python), IsEmpty());
}

TEST(CodeFinder, NamesEachOfSeveralCodesOnce) {
  CodeFinder finder;
  finder.add(code, python, 2);
  finder.add(std::string(code) + "other = f(1, 2, 3)\n", python, 1);
  std::string text = std::string(code) + "other = f(1, 2, 3)\n" + code;
  EXPECT_THAT(finder.find(text, python), ElementsAre(1, 2));
}

}  // namespace
}  // namespace kw::leak
