#include "code/similarity/operations.h"

#include <gtest/gtest.h>

#include <string>

namespace kw::near {
namespace {

constexpr std::string_view row_kernel = R"(@triton.jit
def row_kernel(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.5)
    best = reduced_max(x, axis=0)
    tl.store(out_ptr + row, tl.exp(best) + 2.0)
)";

std::string with(std::string_view old, std::string_view changed) {
  std::string text(row_kernel);
  for (std::size_t at = text.find(old); at != std::string::npos; at = text.find(old, at + changed.size()))
    text.replace(at, old.size(), changed);
  return text;
}

bool differs_from_the_kernel(const std::string& text) {
  EXPECT_NE(text, row_kernel);
  return differ(operations_of(row_kernel), operations_of(text));
}

TEST(Operations, DifferInCalledFunctions) {
  EXPECT_TRUE(differs_from_the_kernel(with("reduced_max", "reduced_min")));
  EXPECT_TRUE(differs_from_the_kernel(with("tl.exp", "tl.log")));
  EXPECT_TRUE(differs_from_the_kernel(with("tl.exp(best)", "tl.log(best + best)")));
}

TEST(Operations, DifferInOperatorsComparisonsAndConstants) {
  EXPECT_TRUE(differs_from_the_kernel(with("(best) + 2.0", "(best) - 2.0")));
  EXPECT_TRUE(differs_from_the_kernel(with("cols < n_cols", "cols <= n_cols")));
  EXPECT_TRUE(differs_from_the_kernel(with("2.0", "3.0")));
}

TEST(Operations, AreEqualUnderOtherNamesAndLayout) {
  EXPECT_FALSE(differs_from_the_kernel(with("best", "peak")));
  EXPECT_FALSE(differs_from_the_kernel(with("row_kernel", "rows_of")));
  EXPECT_FALSE(differs_from_the_kernel(with(", n_cols, ", ",\n    n_cols,\n    ")));
  EXPECT_FALSE(
      differs_from_the_kernel(with("    best =", "    # the peak of the row - not the sum\n    best =")));
}

TEST(Operations, OfACopyWithAStatementMoreAreThoseOfTheOther) {
  EXPECT_FALSE(differs_from_the_kernel(with("    best =", "    x = x.to(tl.float32) * 1.0\n    best =")));
}

TEST(Operations, OfCudaDifferInCalledFunctions) {
  const auto code = [](std::string_view function) {
    return "__global__ void scan(float* x, int n) {\n  const int i = threadIdx.x;\n  x[i] = " +
           std::string(function) + "(x[i], 0.0f);\n}\n";
  };
  EXPECT_TRUE(differ(operations_of(code("fmaxf")), operations_of(code("fminf"))));
  EXPECT_TRUE(differ(operations_of(code("larger_of")), operations_of(code("smaller_of"))));
  EXPECT_FALSE(differ(operations_of(code("fmaxf")), operations_of(code("fmaxf"))));
}

}  // namespace
}  // namespace kw::near
