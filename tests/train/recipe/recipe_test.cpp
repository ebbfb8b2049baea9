#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/value.hpp>
#include <fstream>
#include <set>

#include "support/home.h"
#include "train/recipe/files.h"
#include "train/recipe/keys.h"

namespace kw::recipe {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The error, with the remedy after an arrow; "" without one.
template <typename T>
std::string fault(const Result<T>& result) {
  return result ? "" : result.error().what + " -> " + result.error().remedy;
}

std::string fault_of(std::string_view toml) {
  return fault(parse_recipe(toml, "r.toml"));
}

std::string after_set(std::string_view assignment) {
  Recipe recipe;
  return fault(set(recipe, assignment));
}

TEST(Recipe, TheDefaultPresetIsWhatAnEmptyFileGives) {
  auto preset = open_recipe("default");
  ASSERT_TRUE(preset) << fault(preset);
  EXPECT_EQ(to_toml(*preset), to_toml(Recipe{}));
}

TEST(Recipe, TheDefaultPresetWritesEveryKeyOut) {
  std::string text(preset_texts().front().toml);
  for (const Key& key : keys()) EXPECT_THAT(text, HasSubstr("\n" + std::string(key.name) + " = "));
}

TEST(Recipe, TheDocumentNamesEveryKey) {
  std::ifstream file(source_file("docs/training.md"));
  std::string text{std::istreambuf_iterator<char>(file), {}};
  for (const Key& key : keys()) EXPECT_THAT(text, HasSubstr("| `" + std::string(key.name) + "` |"));
}

TEST(Recipe, TheFastPresetTakesAsManySequencesAStep) {
  auto fast = open_recipe("fast");
  ASSERT_TRUE(fast) << fault(fast);
  EXPECT_EQ(fast->training.micro_batch * fast->training.accumulation, 16);
  EXPECT_EQ(fast->lora.rank, 32);
}

TEST(Recipe, TheFastPresetTakesLongerRowsThanTheDefault) {
  auto fast = open_recipe("fast");
  ASSERT_TRUE(fast) << fault(fast);
  EXPECT_EQ(fast->data.max_length, 4096);
  EXPECT_EQ(Recipe{}.data.max_length, 1024);
}

TEST(Recipe, AdaptersAreInFloat32UnlessAskedOtherwise) {
  EXPECT_EQ(Recipe{}.lora.adapter_dtype, "fp32");
  EXPECT_EQ(after_set("adapter_dtype=bf16"), "");
  EXPECT_THAT(after_set("adapter_dtype=fp16"), HasSubstr("one of fp32, bf16"));
}

TEST(Recipe, WhatIsWrittenIsReadBackTheSame) {
  Recipe recipe;
  for (std::string_view change : {"learning_rate=3e-5", "targets=q_proj,v_proj", "warmup=10", "double=true"})
    ASSERT_TRUE(set(recipe, change));
  auto again = parse_recipe(to_toml(recipe), "again");
  ASSERT_TRUE(again) << fault(again);
  EXPECT_THAT(differences(recipe, *again), IsEmpty());
}

TEST(Recipe, JsonIsNestedBySection) {
  auto json = to_json(Recipe{});
  EXPECT_EQ(json.at("quantisation").at("double").as_bool(), false);
  EXPECT_EQ(json.at("training").at("learning_rate").as_double(), 1e-4);
  EXPECT_EQ(json.at("lora").at("targets").as_array().size(), 7U);
  EXPECT_EQ(json.at("data").at("template").as_string(), "auto");
}

TEST(Recipe, NoTwoSectionsShareAName) {
  std::set<std::string_view> names;
  for (const Key& key : keys()) EXPECT_TRUE(names.insert(key.name).second) << key.name;
}

TEST(Recipe, AMisspeltKeyIsNamedWithItsLineAndTheNearest) {
  EXPECT_EQ(fault_of("[lora]\nrank = 8\nalhpa = 8\n"),
            "r.toml:3: a recipe has no key lora.alhpa -> do you mean lora.alpha?");
}

TEST(Recipe, AKeyInTheWrongSectionIsAnError) {
  EXPECT_THAT(fault_of("rank = 8\n"), AllOf(HasSubstr("r.toml:1: rank is not in its section [lora]")));
  EXPECT_THAT(fault_of("[training]\nrank = 8\n"), HasSubstr("no key training.rank"));
}

TEST(Recipe, AValueOutOfRangeSaysWhatIsAllowed) {
  EXPECT_EQ(fault_of("[lora]\nrank = 0\n"),
            "r.toml:2: lora.rank cannot be 0 -> give a whole number from 1 to 1024");
  EXPECT_THAT(fault_of("[lora]\ndropout = 1.0\n"), HasSubstr("a number from 0 to below 1"));
  EXPECT_THAT(fault_of("[training]\nlearning_rate = 0\n"), HasSubstr("a number above 0 to 1"));
  EXPECT_THAT(fault_of("[training]\nlearning_rate = nan\n"), HasSubstr("cannot be nan"));
  EXPECT_THAT(fault_of("[training]\nschedule = \"cosin\"\n"), HasSubstr("one of cosine, linear, constant"));
}

TEST(Recipe, AValueOfAnotherKindIsAnError) {
  EXPECT_THAT(fault_of("[data]\npacking = \"yes\"\n"), HasSubstr("true or false"));
  EXPECT_THAT(fault_of("[lora]\nrank = 8.0\n"), HasSubstr("cannot be 8.0"));
  EXPECT_THAT(fault_of("[lora]\ntargets = []\n"), HasSubstr("at least one"));
  EXPECT_THAT(fault_of("[lora]\ntargets = [1]\n"), HasSubstr("an unsupported type"));
  EXPECT_THAT(fault_of("[lora]\nrank = 1979-05-27\n"), HasSubstr("an unsupported type"));
}

TEST(Recipe, AWholeNumberDoesForARealOne) {
  auto recipe = parse_recipe("[training]\nclip = 2\n", "r");
  ASSERT_TRUE(recipe);
  EXPECT_EQ(recipe->training.clip, 2.0);
}

TEST(Recipe, BrokenTomlIsNamedByItsLine) {
  EXPECT_THAT(fault_of("[lora\n"), HasSubstr("r.toml:1:"));
  EXPECT_THAT(fault_of("[lora]\nrank = 8\nrank = 9\n"), HasSubstr("r.toml:3:"));
}

TEST(Recipe, KeysNestedWithoutEndAreRefused) {
  std::string deep = "a";
  for (int i = 0; i < 300000; ++i) deep += ".a";
  EXPECT_THAT(fault_of(deep + " = 1\n"), HasSubstr("key nested too deeply"));
  EXPECT_THAT(fault_of("[" + deep + "]\n"), HasSubstr("key nested too deeply"));
  EXPECT_THAT(fault_of("a = " + std::string(100000, '[')), HasSubstr("r.toml:1:"));
}

TEST(Recipe, SetTakesABareNameOrAPath) {
  Recipe recipe;
  ASSERT_TRUE(set(recipe, "rank=8"));
  ASSERT_TRUE(set(recipe, "training.epochs=3"));
  ASSERT_TRUE(set(recipe, "targets=[\"q_proj\", \"o_proj\"]"));
  EXPECT_EQ(recipe.lora.rank, 8);
  EXPECT_EQ(recipe.training.epochs, 3);
  EXPECT_THAT(recipe.lora.targets, ElementsAre("q_proj", "o_proj"));
}

TEST(Recipe, SetRefusesWhatAFileWouldRefuse) {
  EXPECT_THAT(after_set("epoch=2"), HasSubstr("do you mean epochs?"));
  EXPECT_THAT(after_set("training.rank=3"), HasSubstr("do you mean lora.rank?"));
  EXPECT_THAT(after_set("training.rnk=3"), HasSubstr("do you mean lora.rank?"));
  EXPECT_THAT(after_set("=5"), HasSubstr("the key before the = is missing"));
  EXPECT_THAT(after_set("training.epochs"), HasSubstr("has no value"));
  EXPECT_THAT(after_set("rank=eight"), HasSubstr("lora.rank cannot be \"eight\""));
  EXPECT_THAT(after_set("rank=99999999999999999999"), HasSubstr("a whole number from 1 to 1024"));
  EXPECT_THAT(after_set("targets="), HasSubstr("at least one"));
  EXPECT_THAT(after_set("targets=q proj"), HasSubstr("a list of names"));
}

TEST(Recipe, DifferencesNameKeyAndBothValues) {
  Recipe changed;
  changed.training.epochs = 2;
  EXPECT_THAT(differences(Recipe{}, changed), ElementsAre("training.epochs: 1 -> 2"));
}

TEST(Recipe, AnUnknownPresetIsNamedWithTheNearest) {
  EXPECT_EQ(fault(open_recipe("fsat")),
            "there is no recipe fsat -> do you mean fast? A file's name ends with .toml");
  EXPECT_THAT(fault(open_recipe("no-such.toml")), HasSubstr("cannot read no-such.toml"));
}

}  // namespace
}  // namespace kw::recipe
