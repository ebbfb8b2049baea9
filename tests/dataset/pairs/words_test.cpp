#include "dataset/pairs/words.h"

#include <gmock/gmock.h>

#include "dataset/pairs/profile.h"

namespace kw::pairs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Words, CamelCaseAndUnderscoresGiveTheSame) {
  EXPECT_THAT(words_of("RMSNormKernel"), ElementsAre("rms", "norm"));
  EXPECT_THAT(words_of("_rms_norm_kernel"), ElementsAre("rms", "norm"));
  EXPECT_THAT(words_of("rmsnorm"), ElementsAre("rms", "norm"));
}

TEST(Words, CompoundsAreOneWord) {
  EXPECT_THAT(words_of("SiLU_and_mul_kernel"), ElementsAre("silu", "mul"));
  EXPECT_THAT(words_of("top_k_sampling"), ElementsAre("topk", "sample"));
}

TEST(Words, GenericOnesAreLeftOut) {
  EXPECT_THAT(words_of("fused_kernel_impl_v2"), IsEmpty());
}

TEST(Words, PluralsAreSingular) {
  EXPECT_THAT(words_of("merge_states"), ElementsAre("merge", "state"));
}

TEST(Words, ALongNameIsBounded) {
  std::string name;
  for (int i = 0; i < 100'000; ++i) name += "word" + std::to_string(i) + "_";
  EXPECT_LE(words_of(name).size(), 32U);
}

TEST(Contradiction, ForwardAndBackward) {
  EXPECT_EQ(contradiction(words_of("layer_norm_bwd"), words_of("layer_norm_fwd")), "backward");
  EXPECT_EQ(contradiction(words_of("layer_norm_bwd"), words_of("LayerNormBackward")), "");
}

TEST(Contradiction, MembersOfOneFamily) {
  EXPECT_EQ(contradiction(words_of("rms_norm"), words_of("layer_norm")), "rms, layer");
  EXPECT_EQ(contradiction(words_of("quantize_fp8"), words_of("dequantize_fp8")), "quantize, dequantize");
}

TEST(ParameterWord, PointersHaveTheNameOfWhatTheyPointTo) {
  EXPECT_EQ(parameter_word("weight_ptr"), "weight");
  EXPECT_EQ(parameter_word("x_ptr"), parameter_word("input"));
  EXPECT_EQ(parameter_word("stride_xm"), "");
}

TEST(ParameterNames, AreReadFromTheSource) {
  EXPECT_THAT(parameter_names("@f(1)\ndef g(a, b: Tuple[int, int] = (1, 2), *, c=None):\n  pass"),
              ElementsAre("a", "b", "c"));
  EXPECT_THAT(parameter_names("def g("), IsEmpty());
}

TEST(Operations, BothLanguagesNameTheSame) {
  EXPECT_EQ(operations_in("__expf(x) + rsqrtf(y); atomicAdd(p, 1)"),
            operations_in("tl.exp(x) + tl.rsqrt(y)\ntl.atomic_add(p, 1)"));
  EXPECT_THAT(operation_names(operations_in("tl.exp(x)")), ElementsAre("exp"));
}

}  // namespace
}  // namespace kw::pairs
