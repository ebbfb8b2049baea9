#include "tasks/extraction.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace kw
