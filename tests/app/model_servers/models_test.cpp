#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/core/files.h"
#include "model_servers/launch_line.h"
#include "model_servers/table.h"
#include "support/home.h"

namespace kw::models {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(Models, ScriptsInTheTreeAreThoseOfTheTable) {
  for (const ModelServer& server : model_servers()) {
    auto text = read_text_file(source_file("scripts/" + server.script));
    ASSERT_TRUE(text) << text.error().what;
    EXPECT_EQ(*text, server_script(server)) << "write it anew: kernelwright models script " << server.name;
  }
}
TEST(Models, NoPlaceholderIsLeft) {
  for (const ModelServer& server : model_servers())
    EXPECT_THAT(server_script(server), Not(testing::ContainsRegex("@[A-Z_]+@"))) << server.name;
}
TEST(Models, GpusAreTensorTimesDataParallel) {
  EXPECT_EQ(find_model("glm-4.5-air")->gpus(), 4U);
  EXPECT_EQ(find_model("gpt-oss-120b")->gpus(), 2U);
  EXPECT_EQ(find_model("qwen3-235b")->gpus(), 8U);
  EXPECT_EQ(find_model("unheard-of"), nullptr);
}
TEST(Models, ParsersAreThoseThatTheModelsNeed) {
  for (const ModelServer& server : model_servers())
    for (const Checkpoint& checkpoint : server.checkpoints) {
      auto parser = reasoning_parser_of(checkpoint.repository);
      std::string needed = parser && !parser->automatic ? parser->name : "";
      EXPECT_EQ(checkpoint.reasoning_parser, needed) << checkpoint.repository;
    }
}
TEST(Models, OurOwnLinesHaveNoFault) {
  for (const ModelServer& server : model_servers()) {
    for (const Checkpoint& checkpoint : server.checkpoints)
      EXPECT_THAT(examine_launch(serve_line(server, checkpoint)), IsEmpty()) << checkpoint.repository;
  }
}
TEST(Models, InstructDoesNotReason) {
  EXPECT_FALSE(reasoning_parser_of("Qwen/Qwen3-235B-A22B-Instruct-2507-FP8"));
  EXPECT_EQ(reasoning_parser_of("/models/qwen3-8b")->name, "qwen3");
  EXPECT_FALSE(reasoning_parser_of("meta-llama/Llama-3.1-8B-Instruct"));
}

// The findings of a launch line, in one text.
std::string said(std::string_view line) {
  std::string all;
  for (const LaunchFinding& finding : examine_launch(line))
    all += finding.what + " -> " + finding.remedy + "\n";
  return all;
}

TEST(LaunchLine, DeadFlagsAreNamedWithWhatToDo) {
  EXPECT_THAT(
      said("vllm serve m --enable-reasoning --reasoning-parser qwen3 --num-scheduler-steps=8"),
      AllOf(HasSubstr("--enable-reasoning"), HasSubstr("--num-scheduler-steps"), HasSubstr("leave it out")));
  EXPECT_THAT(said("vllm serve m --task generate"), HasSubstr("--runner"));
}
TEST(LaunchLine, UnderscoresAreDashes) {
  EXPECT_THAT(said("vllm serve m --swap_space 4"), HasSubstr("--swap-space"));
}
TEST(LaunchLine, AMissingParserIsNamed) {
  EXPECT_THAT(said("vllm serve zai-org/GLM-4.5-Air -tp 4"), HasSubstr("--reasoning-parser glm45"));
  EXPECT_THAT(said("python -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3-32B"),
              HasSubstr("--reasoning-parser qwen3"));
  EXPECT_EQ(said("vllm serve openai/gpt-oss-120b"), "");
}
TEST(LaunchLine, AShortContextIsNamed) {
  EXPECT_THAT(said("vllm serve m --max-model-len 8192"), HasSubstr("8192"));
  EXPECT_THAT(said("vllm serve m --max-model-len 8k"), HasSubstr("8000"));
  EXPECT_EQ(said("vllm serve m --max-model-len 8k --max-model-len 32768"), "");
}
TEST(LaunchLine, BlocksThatEightDoNotDivide) {
  const std::string model = "vllm serve Qwen/Qwen3-235B-A22B-Instruct-2507-FP8 ";
  EXPECT_THAT(said(model + "--tensor-parallel-size 8"), HasSubstr("--enable-expert-parallel"));
  EXPECT_THAT(said(model + "-tp 4 -dp 2"), HasSubstr("--enable-expert-parallel"));
  EXPECT_EQ(said(model + "-tp 4"), "");
  EXPECT_EQ(said(model + "-tp 8 --enable-expert-parallel"), "");
}
TEST(LaunchLine, AScriptsOtherCommandsDoNotCount) {
  EXPECT_EQ(said("# vllm serve m --swap-space 4\nflashdevice --device cuda --task x\n"
                 "exec vllm serve m \\\n  --port 8000 | tee log\n"),
            "");
  EXPECT_THAT(said("cd x && vllm serve m \\\n  --swap-space 4"), HasSubstr("--swap-space"));
}
TEST(LaunchLine, WordsAreSplitAsAShellDoes) {
  EXPECT_THAT(launch_words("vllm serve 'a b' --x \"c # d\" \\\n -y '' # vllm"),
              ElementsAre("vllm", "serve", "a b", "--x", "c # d", "-y", ""));
}
TEST(LaunchLine, OurScriptsHaveNoFault) {
  for (const ModelServer& server : model_servers()) EXPECT_EQ(said(server_script(server)), "") << server.name;
}
TEST(LaunchLine, ALineWithoutVllmIsNotCalledRight) {
  EXPECT_THAT(said("echo hello"), HasSubstr("nothing here names vLLM"));
}
TEST(LaunchLine, OddTextIsSurvived) {
  for (const char* text :
       {"", "'", "vllm \\", "#", "\"vllm serve", "vllm serve", "vllm --max-model-len", "vllm serve --model"})
    EXPECT_EQ(said(text), "") << text;
}

}  // namespace
}  // namespace kw::models
