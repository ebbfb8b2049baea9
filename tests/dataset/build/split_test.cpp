#include "dataset/build/split.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "dataset/build/jsonl.h"
#include "dataset/build/split_check.h"
#include "world.h"

namespace kw::dataset {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<Family> families(std::initializer_list<std::uint64_t> kernels) {
  std::vector<Family> all;
  for (std::uint64_t count : kernels) all.push_back({"family " + std::to_string(all.size()), count, {}});
  return all;
}

std::uint64_t kernels_of(const std::vector<Family>& all, const std::vector<bool>& taken) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < all.size(); ++i) sum += taken[i] ? all[i].kernels : 0;
  return sum;
}

TEST(ChooseValidation, TakesAboutTheShareWhateverTheSeed) {
  std::vector<Family> all;
  for (std::uint64_t i = 0; i < 300; ++i) all.push_back({"family " + std::to_string(i), 1 + i % 5, {}});
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_NEAR(static_cast<double>(kernels_of(all, choose_validation(all, 0.1, seed))), 90, 2);
}

TEST(ChooseValidation, TakesNoneForNoShareAndAllForAll) {
  auto all = families({3, 1, 7});
  EXPECT_THAT(choose_validation(all, 0, 1), ElementsAre(false, false, false));
  EXPECT_THAT(choose_validation(all, 1, 1), ElementsAre(true, true, true));
}

TEST(ChooseValidation, PrefersSmallFamilies) {
  auto all = families({60, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 30});
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    auto taken = choose_validation(all, 0.06, seed);
    EXPECT_FALSE(taken[0] || taken[11]);
    EXPECT_EQ(kernels_of(all, taken), 6U);
  }
}

TEST(ChooseValidation, TakesTheUsersOfAFamilyWithIt) {
  auto all = families({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  all[0].users = {1};
  all[1].users = {2};
  bool once = false;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    auto taken = choose_validation(all, 0.5, seed);
    EXPECT_TRUE(!taken[0] || (taken[1] && taken[2]));
    EXPECT_TRUE(!taken[1] || taken[2]);
    once = once || taken[0];
  }
  EXPECT_TRUE(once);
}

TEST(ChooseValidation, DoesNotDependOnTheOrderOfTheFamilies) {
  auto all = families({1, 2, 3, 1, 2, 3, 1, 2, 3, 4});
  auto taken = choose_validation(all, 0.3, 7);
  std::ranges::reverse(all);
  std::reverse(taken.begin(), taken.end());
  EXPECT_EQ(choose_validation(all, 0.3, 7), taken);
}

constexpr const char* kernel = R"(def scale(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(x_ptr + offsets, x * 3, mask=offsets < n)
)";

corpus::Row row_of(const std::string& split, const std::string& prompt, const std::string& completion) {
  corpus::Row row;
  row.kind = corpus::RowKind::fim;
  row.prompt = prompt;
  row.completion = completion;
  row.id = corpus::row_key(prompt, completion);
  row.split = split;
  return row;
}

class SplitCheck : public testing::Test {
 protected:
  std::filesystem::path write(const std::vector<corpus::Row>& rows) const {
    auto path = world_.folder() / "rows.jsonl";
    auto file = JsonlWriter::create(path);
    for (const corpus::Row& row : rows) EXPECT_TRUE(file->write(corpus::to_json(row)));
    EXPECT_TRUE(file->finish());
    return path;
  }

  World world_;
  const std::vector<ValidationFunction> functions_{{kernel, near::Language::python}};
};

TEST_F(SplitCheck, FindsANeighbourInTheSideOfAHole) {
  std::string neighbour = std::string("<|fim_suffix|>\n    # of the file\n") + kernel +
                          "<|fim_prefix|>def other(x):\n    return <|fim_middle|>";
  auto found = find_validation_code(
      write({row_of("train", "def alone(x):\n", "    return x"), row_of("train", neighbour, "x + 1")}),
      functions_, 1);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->train_rows, ElementsAre(1));
  EXPECT_EQ(found->functions_found, 1U);
}

TEST_F(SplitCheck, FindsAFunctionThatAHoleDivides) {
  std::string text = kernel;
  std::size_t at = text.find("tl.load");
  auto found = find_validation_code(write({row_of("train",
                                                  "<|fim_prefix|>" + text.substr(0, at) + "<|fim_suffix|>" +
                                                      text.substr(at + 7) + "<|fim_middle|>",
                                                  "tl.load")}),
                                    functions_, 1);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->train_rows, ElementsAre(0));
}

TEST_F(SplitCheck, FindsTheAnswerToARequest) {
  corpus::Row row = row_of("train", "Write the kernel `it's`:\n\n```python\nimport triton", kernel);
  row.hole = corpus::Hole{.node = "body", .rendering = "instruction", .region = {}, .middle = {}};
  auto found = find_validation_code(write({row}), functions_, 1);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->train_rows, ElementsAre(0));
}

TEST_F(SplitCheck, NamesTheUnitsThatLoseAllRows) {
  corpus::Row only = row_of("train", "# the only row\n", kernel);
  only.unit = "loses all";
  corpus::Row one = row_of("train", "# one of two rows\n", kernel);
  corpus::Row other = row_of("train", "def f(x):\n", "    x");
  one.unit = other.unit = "keeps one";
  SplitFacts facts;
  auto lost = keep_validation_apart(write({only, one, other}), functions_, 1, facts);
  ASSERT_TRUE(lost);
  EXPECT_THAT(*lost, ElementsAre("loses all"));
}

TEST_F(SplitCheck, LeavesOutTheCopyAndTheAnswerThatIsInTraining) {
  std::string other = kernel;
  other.replace(other.find("scale"), 5, "twice");
  std::string body = other.substr(other.find('\n') + 1);
  auto path =
      write({row_of("train", "# a copy\n", kernel), row_of("train", "def near(x):\n", body),
             row_of("validation", "def twice(x):\n", body), row_of("validation", "def f(x):\n", "    x")});
  SplitFacts facts;
  ASSERT_TRUE(keep_validation_apart(path, functions_, 2, facts));
  EXPECT_EQ(facts.train_left_out, 1U);
  EXPECT_EQ(facts.answers_left_out, 1U);
  EXPECT_EQ(facts.functions_leaked + facts.answers_leaked, 0U);
  auto again = find_validation_code(path, functions_, 1);
  ASSERT_TRUE(again);
  EXPECT_THAT(again->train_rows, IsEmpty());
  EXPECT_EQ(world_.read("rows.jsonl").find("a copy"), std::string::npos);
  EXPECT_NE(world_.read("rows.jsonl").find("def near"), std::string::npos);
}

}  // namespace
}  // namespace kw::dataset
