#include "types/reward.h"

#include <gtest/gtest.h>

#include "base/core/json.h"

namespace kw {
namespace {

Verdict right(std::optional<double> speedup = {}, Trust trust = Trust::replay) {
  Verdict v;
  v.status = Status::correct;
  v.counts = true;
  v.speedup = speedup;
  v.trust = trust;
  return v;
}

Verdict broken(Status status, std::optional<Fault> fault) {
  Verdict v;
  v.status = status;
  v.fault = fault;
  return v;
}

Result<RewardTerms> terms_of(std::string_view text) {
  return reward_terms_from_json(*parse_json(text));
}

TEST(Reward, OfAFastKernelIsTheBaseAndItsSpeedup) {
  EXPECT_DOUBLE_EQ(*reward_of(right(1.5), {}), 1.8);
}

TEST(Reward, HasACap) {
  EXPECT_DOUBLE_EQ(*reward_of(right(40), {}), 5.3);
}

TEST(Reward, OfARightKernelOfUnknownSpeedIsTheBase) {
  EXPECT_DOUBLE_EQ(*reward_of(right({}, Trust::interpreter), {}), 0.3);
}

TEST(Reward, DoesNotBelieveASpeedThatIsTrustedLessThanAskedFor) {
  EXPECT_DOUBLE_EQ(*reward_of(right(4, Trust::in_process), {}), 0.3);
  EXPECT_DOUBLE_EQ(*reward_of(right(4, Trust::in_process), {.min_trust = Trust::in_process}), 4.3);
}

TEST(Reward, IsNothingWhereARightAnswerProvesNothing) {
  for (CountsReason reason : {CountsReason::decoy, CountsReason::wraps_reference, CountsReason::not_triton}) {
    Verdict no_evidence = right(3);
    no_evidence.counts = false;
    no_evidence.counts_reason = reason;
    EXPECT_EQ(reward_of(no_evidence, {}), 0.0);
  }
}

TEST(Reward, OfAWrongOrBrokenKernelIsZero) {
  EXPECT_EQ(reward_of(broken(Status::incorrect, Fault::kernel), {}), 0.0);
  EXPECT_EQ(reward_of(broken(Status::failed, Fault::kernel), {}), 0.0);
}

TEST(Reward, SaysNothingOfAKernelThatIsNotToBlame) {
  EXPECT_FALSE(reward_of(broken(Status::error, Fault::task), {}));
  EXPECT_FALSE(reward_of(broken(Status::error, Fault::infrastructure), {}));
}

TEST(RewardTerms, AreTheContractsWhereNothingIsSaid) {
  EXPECT_EQ(terms_of("{}"), RewardTerms());
  EXPECT_EQ(terms_of("null"), RewardTerms());
  EXPECT_EQ(terms_of(R"({"cap": null})"), RewardTerms());
}

TEST(RewardTerms, AreRead) {
  EXPECT_EQ(terms_of(R"({"base": 0, "cap": 3, "min_trust": "in-process"})"),
            (RewardTerms{.base = 0, .cap = 3, .min_trust = Trust::in_process}));
}

TEST(RewardTerms, ThatMakeNoSenseAreNamed) {
  for (auto [text, named] : {std::pair{R"({"base": -1})", "base"},
                             {R"({"cap": "5"})", "cap"},
                             {R"({"bonus": 1})", "bonus"},
                             {R"({"min_trust": "interpreter"})", "min_trust"},
                             {R"({"min_trust": 1})", "min_trust"},
                             {"7", "object"}}) {
    auto terms = terms_of(text);
    ASSERT_FALSE(terms) << text;
    EXPECT_NE(terms.error().what.find(named), std::string::npos) << terms.error().what;
  }
}

}  // namespace
}  // namespace kw
