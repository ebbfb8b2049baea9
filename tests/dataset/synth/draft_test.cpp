#include "dataset/synth/draft.h"

#include <gmock/gmock.h>

namespace kw::synth {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Draft, AChildThatDiedGivesAReasonAndNoKernel) {
  Draft draft = draft_of_answer(3, "died: signal 9", "");
  EXPECT_EQ(draft.number, 3U);
  EXPECT_EQ(draft.stage, "compile");
  EXPECT_EQ(draft.reason, "died: signal 9");
  EXPECT_EQ(draft.kernel, "");
}

TEST(Draft, AnAnswerThatIsNoJsonGivesNoKernel) {
  EXPECT_EQ(draft_of_answer(3, "answered", "{\"family\":").reason, "no answer");
}

TEST(Draft, AnAnswerWithoutAKernelKeepsItsReason) {
  Draft draft = draft_of_answer(3, "answered",
                                R"({"family": "scan", "name": "f", "reference": "r", "kernel": null,
                                    "stage": "rewrite", "reason": "a scan"})");
  EXPECT_EQ(draft.family, "scan");
  EXPECT_EQ(draft.stage, "rewrite");
  EXPECT_EQ(draft.reason, "a scan");
}

TEST(Draft, JsonGivesTheSameDraft) {
  Draft draft;
  draft.number = 5;
  draft.kernel = "k\n";
  auto again = draft_from(to_json(draft));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->number, 5U);
  EXPECT_EQ(again->kernel, "k\n");
}

TEST(Draft, JsonKeepsTheLicenceOfAKernel) {
  Draft draft = draft_of_answer(
      5, "answered",
      R"({"family": "low_rank", "name": "f", "reference": "r", "kernel": "k", "licence": "Apache-2.0"})");
  auto again = draft_from(to_json(draft));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->licence, "Apache-2.0");
  EXPECT_EQ(id_of(2, *again), "synth-2-5");
}

TEST(Draft, JsonKeepsACudaSide) {
  Draft draft =
      draft_of_answer(5, "answered",
                      R"({"family": "scan", "name": "f", "reference": "r", "kernel": "k", "cuda": "c",
                                    "cuda_candidate": "m", "compared": "t"})");
  EXPECT_EQ(draft.stage, "");
  auto again = draft_from(to_json(draft));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->cuda, "c");
  EXPECT_EQ(again->cuda_candidate, "m");
  EXPECT_EQ(comparable_text(*again), "t");
  EXPECT_EQ(id_of(2, *again), "synth-cuda-2-5");
}

TEST(Draft, ADraftWithoutCudaHasNoKeysOfOne) {
  EXPECT_FALSE(to_json(Draft{}).contains("cuda_code"));
  EXPECT_EQ(id_of(2, Draft{}), "synth-2-0");
}

TEST(Draft, TheComparedTextHasNeitherTheNameNorTheInputs) {
  Draft draft;
  draft.name = "relu_sum";
  draft.reference = "def relu_sum(x):\n    return x\n\n\ndef get_inputs():\n    return [7]\n";
  draft.kernel = "def relu_sum_kernel(): pass\n";
  std::string text = comparable_text(draft);
  EXPECT_THAT(text, HasSubstr("def f_kernel(): pass"));
  EXPECT_THAT(text, Not(HasSubstr("relu_sum")));
  EXPECT_THAT(text, Not(HasSubstr("[7]")));
}

}  // namespace
}  // namespace kw::synth
