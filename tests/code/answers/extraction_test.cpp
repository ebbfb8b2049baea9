#include "code/answers/extraction.h"

#include <gtest/gtest.h>

#include <chrono>

namespace kw {
namespace {

TEST(Extraction, TheLastCompleteTritonBlock) {
  EXPECT_EQ(extract_code("<triton>\na\n</triton> or <triton>\nb\n</triton> and <triton>\nc"), "b\n");
}
TEST(Extraction, AFenceInsideTheTagsIsTakenOff) {
  EXPECT_EQ(extract_code("<triton>\n```python\na\n```\n</triton>"), "a\n");
}
TEST(Extraction, TheFencedBlockWithAKernel) {
  EXPECT_EQ(extract_code("```python\n@triton.jit\n```\ntext\n```python\nprint(1)\n```\n"), "@triton.jit\n");
}
TEST(Extraction, ElseTheLastPythonBlock) {
  EXPECT_EQ(extract_code("```python\na\n```\n```python\nb\n```\n```bash\nc\n```\n"), "b\n");
}
TEST(Extraction, AnOpenFenceDoesNotCount) {
  EXPECT_EQ(extract_code("```python\na\n```\n```python\nb\n"), "a\n");
}
TEST(Extraction, ElseTheTextItself) {
  EXPECT_EQ(extract_code("import torch\n"), "import torch\n");
}
TEST(Extraction, ProseHoldsNoCode) {
  EXPECT_EQ(extract_code("I cannot import the module from the class you define."), "");
  EXPECT_EQ(extract_code("Code goes between <triton> and </triton>, as you know."), "");
  EXPECT_EQ(extract_code(""), "");
}
TEST(Extraction, TagsInAnyCase) {
  EXPECT_EQ(extract_code("<Triton>\nimport torch\n</TRITON>"), "import torch\n");
}
TEST(Extraction, ATagThatIsOnlySpokenOfDoesNotCount) {
  EXPECT_EQ(
      extract_code("I answer in <triton> tags.\n<triton>\nimport a\n</triton>\nSee <triton>...</triton>."),
      "import a\n");
  EXPECT_EQ(extract_code("Not <triton>...</triton> but\n```python\nimport a\n```\n"), "import a\n");
}
TEST(Extraction, WordsAndAFenceInsideTheTags) {
  EXPECT_EQ(extract_code("<triton>\nHere it is:\n```python\nimport a\n```\n</triton>"), "import a\n");
}
TEST(Extraction, AFenceInADocstringBelongsToTheCode) {
  std::string code = "def f():\n    \"\"\"\n    ```python\n    f()\n    ```\n    \"\"\"\n";
  EXPECT_EQ(extract_code("<triton>\n" + code + "</triton>"), code);
  EXPECT_EQ(extract_code("```python\n" + code + "```\n"), code);
}
TEST(Extraction, AnUnclosedTagIsTheLastResort) {
  EXPECT_EQ(extract_code("<triton>\nimport a\nx = f("), "import a\nx = f(");
  EXPECT_EQ(extract_code("<triton>\n```python\nimport a\nx = f("), "import a\nx = f(");
  EXPECT_EQ(extract_code("```python\n@triton.jit\n```\n<triton>\nimport a\nx = f("), "@triton.jit\n");
}
TEST(Extraction, AnUnclosedFenceIsTheLastResort) {
  EXPECT_EQ(extract_code("Like this:\n```python\nimport a\nx = f("), "import a\nx = f(");
}
TEST(Extraction, TildeFences) {
  EXPECT_EQ(extract_code("~~~python\nimport a\n~~~\n"), "import a\n");
}
TEST(Extraction, AFenceInAListLosesItsIndentation) {
  EXPECT_EQ(extract_code("1. Code:\n   ```python\n   def f():\n       pass\n   ```\n"),
            "def f():\n    pass\n");
}
TEST(Extraction, CarriageReturnsGo) {
  EXPECT_EQ(extract_code("```python\r\nimport a\r\nb = 1\r\n```\r\n"), "import a\nb = 1\n");
}
TEST(Extraction, ALongerFenceHoldsAShorterOne) {
  EXPECT_EQ(extract_code("````python\nimport a\n```\nb\n```\n````\n"), "import a\n```\nb\n```\n");
}
TEST(Extraction, AFenceThatWasNotClosedEndsWhereTheNextBegins) {
  EXPECT_EQ(extract_code("```python\nimport a\n```python\nimport b\n```\n"), "import b\n");
}
TEST(Extraction, OfAnAnsweredCompletionTakesNoDraftOutOfTheThoughts) {
  std::string draft = "```python\nimport draft\n```\n";
  EXPECT_EQ(extract_answered_code("<think>" + draft + "</think>```python\nimport a\n```\n"), "import a\n");
  EXPECT_EQ(extract_answered_code("<think>" + draft + "</think>I give up."), "");
  EXPECT_EQ(extract_answered_code(draft + "</think>```python\nimport a\n```\n"), "import a\n");
}
TEST(Extraction, OfThoughtsThatWereCutShortIsNothing) {
  EXPECT_EQ(extract_answered_code("<think>\n```python\nimport draft\n```\n"), "");
}
TEST(Extraction, OfAnAnswerWithoutThoughtsIsThatOfTheAnswer) {
  EXPECT_EQ(extract_answered_code("```python\nimport a\n```\n"), "import a\n");
}
TEST(Extraction, TenMegabytesOfAnythingTakeNoTime) {
  std::string docstring = "```\n\'\'\'\n";
  std::string tags;
  std::string marks;
  while (docstring.size() < 10'000'000) docstring += "```\n";
  while (tags.size() < 10'000'000) tags += "<triton>x</triton>";
  while (marks.size() < 10'000'000) marks += "```python\n";
  auto start = std::chrono::steady_clock::now();
  for (const std::string* text : {&docstring, &tags, &marks}) extract_code(*text);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace kw
