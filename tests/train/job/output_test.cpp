#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/value.hpp>

#include "base/core/json.h"
#include "train/recipe/files.h"
#include "world.h"

namespace kw::training {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct Output : testing::Test {
  Folder folder;
  Job job;

  Output() {
    write(folder / "rows.jsonl", "{}\n");
    job.model = "owner/name";
    job.output = (folder / "out").string();
    job.data = *look_at_files({(folder / "rows.jsonl").string()});
  }

  // The state after a training that wrote a checkpoint.
  void trained() {
    ASSERT_TRUE(prepare_output(job, Start::anew));
    write(folder / "out/checkpoint-4/adapter_model.safetensors", "x");
  }
  std::string resumed() const { return fault(check_output(job, Start::resume)); }
};

TEST_F(Output, ANewFolderHoldsTheJobAndTheWholeRecipe) {
  ASSERT_EQ(fault(check_output(job, Start::anew)), "");
  ASSERT_EQ(fault(prepare_output(job, Start::anew)), "");
  EXPECT_EQ(read(folder / "out/recipe.toml"), recipe::to_toml(job.recipe));
  auto written = parse_json(read(folder / "out/train.job.json"));
  ASSERT_TRUE(written);
  EXPECT_EQ(written->at("schema").as_string(), "kernelwright.train-job/1");
  EXPECT_EQ(written->at("data").at(0).as_string(), (folder / "rows.jsonl").string());
  EXPECT_TRUE(written->at("memory_bytes").is_null());
  EXPECT_EQ(written->at("recipe").at("lora").at("rank").as_int64(), 32);
}

TEST_F(Output, ResumeWithOtherValidationRowsIsRefused) {
  job.validation = *look_at_files({write(folder / "held.jsonl", "{\"a\":1}\n")});
  trained();
  EXPECT_EQ(resumed(), "");
  job.validation = *look_at_files({write(folder / "held.jsonl", "{\"a\":2}\n")});
  EXPECT_THAT(resumed(), HasSubstr("validation: the contents of"));
  job.validation.clear();
  EXPECT_THAT(resumed(), HasSubstr("validation: 1 files -> 0 files"));
}

TEST(Validation, SplitIsTheFileBesideTheTrainingRows) {
  Folder folder;
  std::string fim = write(folder / "fim_sft.csv", "a,b\n");
  std::string traces = write(folder / "trace_sft.csv", "a,b\n");
  std::string parquet = write(folder / "data/fim/train-00000-of-00002.parquet", "x");
  EXPECT_THAT(fault(split_of({fim, traces, parquet})), HasSubstr("no validation file beside --data"));
  std::string held = write(folder / "fim_sft_validation.csv", "a,b\n");
  std::string other = write(folder / "data/fim/validation-00000-of-00001.parquet", "x");
  EXPECT_THAT(*split_of({fim, traces, parquet}), testing::UnorderedElementsAre(held, other));
  EXPECT_THAT(*split_of({fim, fim}), testing::ElementsAre(held));
}

TEST(Validation, AFileOfTrainingRowsIsRefused) {
  Folder folder;
  auto data = *look_at_files({write(folder / "a.jsonl", "{}\n")});
  auto same = *look_at_files({write(folder / "b.jsonl", "{}\n")}, "--validation");
  auto other = *look_at_files({write(folder / "c.jsonl", "{} \n")}, "--validation");
  EXPECT_THAT(fault(check_held_out(data, same)), AllOf(HasSubstr("b.jsonl"), HasSubstr("a.jsonl")));
  EXPECT_EQ(fault(check_held_out(data, other)), "");
}

TEST_F(Output, AFolderWithCheckpointsIsNotStartedIntoAgain) {
  trained();
  EXPECT_THAT(fault(check_output(job, Start::anew)), AllOf(HasSubstr("holds an adapter or checkpoints"),
                                                           HasSubstr("--resume"), HasSubstr("--fresh")));
}

TEST_F(Output, AnAttemptThatMadeNothingIsNoHindrance) {
  ASSERT_TRUE(prepare_output(job, Start::anew));
  EXPECT_EQ(fault(check_output(job, Start::anew)), "");
}

TEST_F(Output, AFolderOfSomebodyElseIsLeftAlone) {
  write(folder / "out/thesis.tex", "x");
  for (Start start : {Start::anew, Start::resume, Start::fresh})
    EXPECT_THAT(fault(check_output(job, start)),
                HasSubstr("contains files that `kernelwright train` did not write"));
}

TEST_F(Output, AFileIsNoFolder) {
  write(folder / "out", "x");
  EXPECT_THAT(fault(check_output(job, Start::anew)), HasSubstr("is not a folder"));
}

TEST_F(Output, FreshKeepsWhatWasThereAside) {
  trained();
  ASSERT_EQ(fault(check_output(job, Start::fresh)), "");
  ASSERT_TRUE(prepare_output(job, Start::fresh));
  EXPECT_TRUE(fs::exists(folder / "out.1/checkpoint-4"));
  EXPECT_FALSE(fs::exists(folder / "out/checkpoint-4"));
  ASSERT_TRUE(prepare_output(job, Start::fresh));
  EXPECT_TRUE(fs::exists(folder / "out.2/recipe.toml"));
}

TEST_F(Output, ResumingTheSameIsAllowed) {
  trained();
  EXPECT_EQ(resumed(), "");
}

TEST_F(Output, HowOftenIsSavedMayChange) {
  trained();
  job.recipe.training.save_every = 5;
  job.recipe.training.keep = 9;
  EXPECT_EQ(resumed(), "");
}

TEST_F(Output, ResumingWithNothingThereBegins) {
  EXPECT_EQ(resumed(), "");
}

TEST_F(Output, ResumingWithAnotherRecipeNamesEachDifference) {
  trained();
  job.recipe.training.epochs = 3;
  job.recipe.lora.rank = 8;
  EXPECT_THAT(resumed(), AllOf(HasSubstr("training.epochs: 1 -> 3"), HasSubstr("lora.rank: 32 -> 8")));
}

TEST_F(Output, ResumingWithOtherRowsIsRefused) {
  trained();
  write(folder / "rows.jsonl", "{ }\n");
  job.data = *look_at_files({(folder / "rows.jsonl").string()});
  EXPECT_THAT(resumed(), HasSubstr("rows.jsonl have changed"));
}

TEST_F(Output, RowsThatMovedAreTheSameRows) {
  trained();
  fs::rename(folder / "rows.jsonl", folder / "moved.jsonl");
  job.data = *look_at_files({(folder / "moved.jsonl").string()});
  EXPECT_EQ(resumed(), "");
}

TEST_F(Output, ResumingWithAnotherModelOrMoreFilesOrStepsIsRefused) {
  trained();
  write(folder / "more.jsonl", "1\n");
  job.data = *look_at_files({(folder / "rows.jsonl").string(), (folder / "more.jsonl").string()});
  job.model = "owner/other";
  job.max_steps = 5;
  EXPECT_THAT(resumed(), AllOf(HasSubstr("--model: owner/name -> owner/other"),
                               HasSubstr("1 files -> 2 files"), HasSubstr("--max-steps: not given -> 5")));
}

TEST_F(Output, ADamagedJobIsSaid) {
  trained();
  write(folder / "out/train.job.json", "{\"schema\":");
  EXPECT_THAT(resumed(), AllOf(HasSubstr("train.job.json is damaged"), HasSubstr("--fresh")));
}

TEST_F(Output, AFolderInUseIsNotEntered) {
  ASSERT_TRUE(prepare_output(job, Start::anew));
  auto held = open_output_file(job.output);
  ASSERT_TRUE(held);
  for (Start start : {Start::anew, Start::resume, Start::fresh})
    EXPECT_THAT(fault(check_output(job, start)), HasSubstr("another training uses"));
  EXPECT_THAT(fault(open_output_file(job.output)), HasSubstr("another training uses"));
  held->reset();
  EXPECT_EQ(fault(check_output(job, Start::anew)), "");
}

TEST_F(Output, BadFilesOfRowsAreNamed) {
  std::string rows = (folder / "rows.jsonl").string();
  auto looked = [](const std::vector<std::string>& paths) { return fault(look_at_files(paths)); };
  EXPECT_THAT(looked({"/no/such.jsonl"}), HasSubstr("cannot read /no/such.jsonl"));
  EXPECT_THAT(looked({folder.path().string()}), HasSubstr("it is a folder"));
  EXPECT_THAT(looked({write(folder / "empty.csv", "")}), HasSubstr("it is empty"));
  EXPECT_THAT(looked({"/dev/null"}), HasSubstr("not a regular file"));
  EXPECT_THAT(fault(look_at_files({folder / "empty.csv"}, "--validation")), HasSubstr("--validation"));
  EXPECT_THAT(looked({rows, folder.path().string() + "/./rows.jsonl"}), HasSubstr("twice"));
  fs::create_symlink(write(folder / "rows.jsonl", "{}\n"), folder / "other.jsonl");
  EXPECT_THAT(looked({rows, (folder / "other.jsonl").string()}),
              AllOf(HasSubstr("two files with equal contents"), HasSubstr("rows.jsonl and "),
                    HasSubstr("other.jsonl")));
}

TEST_F(Output, AFileIsKnownByItsHash) {
  auto files = look_at_files({write(folder / "abc.jsonl", "abc")});
  ASSERT_TRUE(files);
  EXPECT_EQ(files->front().bytes, 3U);
  EXPECT_EQ(files->front().sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace kw::training
