#include <gtest/gtest.h>

#include "dataset/extract/harvest.h"

namespace kw::harvest {
namespace {

TEST(LanguageOf, APathIsByItsEnding) {
  EXPECT_EQ(language_of("a/b.PY"), Language::python);
  EXPECT_EQ(language_of("a.py/b.cuh"), Language::cuda);
  EXPECT_EQ(language_of("a.py/b"), Language::none);
  EXPECT_EQ(language_of("a.rs"), Language::none);
}

TEST(LanguageOf, ABlockIsByItsNameElseByWhatItHolds) {
  EXPECT_EQ(language_of("Python", ""), Language::python);
  EXPECT_EQ(language_of("c++", ""), Language::cuda);
  EXPECT_EQ(language_of("", "__global__ void f() {}"), Language::cuda);
  EXPECT_EQ(language_of("", "import triton\ndef f(): pass"), Language::python);
  EXPECT_EQ(language_of("", "make all"), Language::none);
  EXPECT_EQ(language_of("pycon", "import triton\ndef f(): pass"), Language::none);
}

TEST(MayMatter, LooksForWhatUnitsHold) {
  std::string filler(100'000, ' ');
  EXPECT_TRUE(may_matter(filler + "@triton.jit", Language::python));
  EXPECT_TRUE(may_matter("def helper(): pass", Language::python));
  EXPECT_FALSE(may_matter(filler + "def other(): pass", Language::python));
  EXPECT_TRUE(may_matter("__device__ int f();", Language::cuda));
  EXPECT_FALSE(may_matter("int main() {}", Language::cuda));
}

}  // namespace
}  // namespace kw::harvest
