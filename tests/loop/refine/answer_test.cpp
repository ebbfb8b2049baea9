// Extracting code from an answer, results that the code alone determines, and the prompt.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "base/core/files.h"
#include "base/core/json.h"
#include "code/answers/extraction.h"
#include "code/syntax/static_findings.h"
#include "loop/refine/prompt.h"
#include "loop/tasks/formats.h"
#include "support/world.h"

namespace kw::refine {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// ---- recorded answers ----

struct Recorded {
  std::string completion;
  std::string code;
};

std::vector<Recorded> recorded(const std::string& name) {
  auto text = read_file(std::string(KW_SOURCE_DIR) + "/examples/sample/" + name);
  auto traces = parse_json(text.value());
  std::vector<Recorded> all;
  auto add = [&](const boost::json::object& from) {
    auto completion = string_at(from, "full_completion");
    auto code = string_at(from, "triton_code");
    if (completion && code) all.push_back({*completion, *code});
  };
  for (const auto& trace : traces.value().as_array()) {
    add(trace.as_object());
    if (const auto* turns = trace.as_object().if_contains("turns"))
      for (const auto& turn : turns->as_array()) add(turn.as_object());
  }
  return all;
}

class RecordedAnswers : public testing::TestWithParam<const char*> {};

TEST_P(RecordedAnswers, HoldTheRecordedCode) {
  auto all = recorded(GetParam());
  EXPECT_GE(all.size(), 10U);
  for (const Recorded& each : all) EXPECT_EQ(extract_code(each.completion), each.code);
}
INSTANTIATE_TEST_SUITE_P(Sample, RecordedAnswers, testing::Values("single_turn.json", "multi_turn.json"));

// ---- results that the code alone determines ----

std::string entry = "def triton_kernel_wrapper(x):\n    k[(1,)](x)\n    return x\n";

std::string decided(const std::string& code, bool cut_short = false) {
  auto verdict = check_before(code, cut_short).verdict;
  if (!verdict) return "nothing";
  EXPECT_EQ(verdict->status, Status::failed);
  EXPECT_EQ(verdict->fault, Fault::kernel);
  return std::string(to_string(*verdict->error_class)) + ": " + *verdict->error;
}

TEST(Precheck, NoCode) {
  EXPECT_EQ(decided(""), "missing_entry: the answer holds no code");
  EXPECT_THAT(decided(" \n", true), HasSubstr("length limit"));
  EXPECT_EQ(check_before("", false).verdict->stage, Stage::parse);
}
TEST(Precheck, NothingToCall) {
  EXPECT_THAT(decided("def wrapper(x): return x\n"), HasSubstr("missing_entry"));
}
TEST(Precheck, AnyEntryWillDo) {
  EXPECT_EQ(decided("class ModelNew: pass\n"), "nothing");
  EXPECT_EQ(decided("class ReluNew: pass\n"), "nothing");
  EXPECT_EQ(decided("from m import *\n"), "nothing");
}
TEST(Precheck, ForbiddenWithItsLine) {
  EXPECT_EQ(decided("import torch\nimport ctypes\n" + entry),
            "forbidden: line 2: imports ctypes is forbidden");
  EXPECT_EQ(check_before("import ctypes\n" + entry, false).verdict->error_detail->line, 1);
}
TEST(Precheck, CutShort) {
  EXPECT_EQ(decided(entry + "y = f(\n", true),
            "syntax_error: line 4: '(' is never closed; the answer ended at its length limit");
}
TEST(Precheck, OtherSyntaxErrorsAreLeftToPython) {
  EXPECT_EQ(decided(entry + "y = = 2\n"), "nothing");
}
TEST(Precheck, TorchOnAValueOfAKernel) {
  EXPECT_THAT(decided("import torch, triton\nimport triton.language as tl\n@triton.jit\ndef k(p):\n"
                      "    tl.store(p, torch.exp(tl.load(p)))\n" +
                      entry),
              HasSubstr("compile_error: line 5: torch.exp"));
}
TEST(Precheck, HonestCodeIsLeftAlone) {
  EXPECT_EQ(decided("import torch, triton\nimport triton.language as tl\n@triton.jit\ndef k(p):\n"
                    "    x = tl.load(p).to(tl.float32)\n    # torch.exp(x) is not for here\n"
                    "    tl.store(p, tl.minimum(x, torch.finfo(torch.float32).max))\n" +
                    entry),
            "nothing");
}
TEST(Precheck, WithoutAKernelTheVerifierDecides) {
  EXPECT_EQ(decided("from torch.utils.cpp_extension import load_inline\n" + entry), "nothing");
  EXPECT_EQ(decided("import torch\n" + entry), "nothing");
}
TEST(Precheck, NoRecordedCodeIsRefusedThatRan) {
  auto expected =
      parse_json(read_file(std::string(KW_SOURCE_DIR) + "/examples/sample/expected.json").value()).value();
  std::size_t seen = 0;
  for (const char* name : {"single_turn.json", "multi_turn.json"})
    for (const Recorded& each : recorded(name)) {
      std::string words = decided(each.code);
      if (words == "nothing") continue;
      ++seen;
      EXPECT_TRUE(words.starts_with("forbidden") || words.starts_with("missing_entry") ||
                  words.starts_with("syntax_error"))
          << words;
    }
  EXPECT_LE(seen, 4U);
}
TEST(Precheck, NamesTheFirstKernel) {
  EXPECT_EQ(check_before("import triton\n@triton.jit\ndef k(): pass\n" + entry, false).kernel_name, "k");
}

// ---- the prompt ----

class Prompt : public testing::TestWithParam<PromptStyle> {};

TEST_P(Prompt, ItsExamplePassesEveryStaticCheck) {
  std::string example = extract_code(default_system_prompt(GetParam()));
  EXPECT_EQ(decided(example), "nothing");
  StaticReport report = examine(example);
  EXPECT_FALSE(report.has_error);
  EXPECT_TRUE(report.findings.empty());
  EXPECT_EQ(report.jitted.size(), 1U);
  EXPECT_TRUE(report.names.contains(std::string(entry_name(GetParam()))));
}
TEST_P(Prompt, ItIsCompactAndPlain) {
  std::string_view text = default_system_prompt(GetParam());
  EXPECT_GT(text.size(), 4000U);
  EXPECT_LT(text.size(), 6500U);
  EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7F); }));
}
TEST_P(Prompt, ItAsksForGradientsWhereTheyAreJudged) {
  const std::string plain = system_prompt_for(GetParam(), false);
  const std::string text = system_prompt_for(GetParam(), true);
  EXPECT_EQ(plain, default_system_prompt(GetParam()));
  ASSERT_TRUE(text.starts_with(plain));
  const std::string more = text.substr(plain.size());
  for (const char* form : {"class Silu(torch.autograd.Function):", "def triton_kernel_backward(given, x):"})
    EXPECT_THAT(more, HasSubstr(form));
  EXPECT_THAT(more, HasSubstr(fmt::format("`{}` returns `Silu.apply(x)`", entry_name(GetParam()))));
  EXPECT_THAT(more, Not(HasSubstr("{0}")));
  EXPECT_LT(more.size(), 3500U);
  EXPECT_TRUE(std::ranges::all_of(more, [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7F); }));
}
INSTANTIATE_TEST_SUITE_P(Styles, Prompt, testing::Values(PromptStyle::wrapper, PromptStyle::modelnew));

TEST(UserTurn, HoldsTheReferenceItsEntryAndInputs) {
  Task task;
  task.reference_code = "def reference_impl(x): return x\n";
  task.entry_point = "reference_impl";
  task.input_shapes = R"({"x": {"shape": [64, 250], "dtype": "float16"}, "y": {"shape": [2]}})";
  std::string text = user_turn(task, PromptStyle::wrapper);
  EXPECT_THAT(text, HasSubstr("```python\ndef reference_impl(x): return x\n```\n"));
  EXPECT_THAT(text, HasSubstr("`reference_impl`"));
  EXPECT_THAT(text, HasSubstr("- x: float16 [64,250]\n- y: float32 [2]\n"));
}
TEST(UserTurn, AsksForGradientsWhereTheyAreJudged) {
  Task task;
  task.reference_code = "def reference_impl(x): return x\n";
  EXPECT_THAT(user_turn(task, PromptStyle::wrapper), Not(HasSubstr("radient")));
  EXPECT_THAT(
      user_turn(task, PromptStyle::modelnew, true),
      AllOf(HasSubstr("The gradients of its inputs and parameters are judged too: `ModelNew` applies"),
            HasSubstr("`triton_kernel_backward` returns them")));
}
TEST(UserTurn, AFenceInTheReferenceDoesNotEndIt) {
  Task task;
  task.reference_code = "\"\"\"\n```\nx\n```\n\"\"\"";
  EXPECT_THAT(user_turn(task, PromptStyle::wrapper),
              HasSubstr("````python\n\"\"\"\n```\nx\n```\n\"\"\"\n````\n"));
}
TEST(UserTurn, IsReadBackFromARowOfADataSet) {
  Task task;
  task.task_id = "set/one";
  task.reference_code = "def scale(x, y):\n    \"\"\"\n```\nThe reference:\n\n```\n\"\"\"\n    return x\n";
  Task named = task;
  named.entry_point = "scale";
  named.input_shapes = R"({"x":{"shape":[64,250],"dtype":"float16"},"y":{"shape":[],"dtype":"int64"}})";
  Task another;
  another.reference_code = "another";
  std::string lines;
  for (const Task& each : {task, named}) {
    std::string prompt = "Be brief. The reference:\n\n```python\nis shown\n```\n\n";
    prompt += user_turn(each, PromptStyle::modelnew) + "\n\n```python\nwrong\n```\n\n" +
              user_turn(another, PromptStyle::modelnew);
    lines += boost::json::serialize(boost::json::object{{"prompt", prompt},
                                                        {"completion", "c"},
                                                        {"kind", "trace"},
                                                        {"source", {{"path", each.task_id}}}}) +
             "\n";
  }
  Folder folder;
  auto source = open_source(folder.write("trace.jsonl", lines), {.helper = {}, .wanted = Wanted::tasks});
  ASSERT_TRUE(source);
  std::vector<Task> found;
  auto read = read_all(
      **source, [&](Job job) { found.push_back(std::move(job.task)); },
      [&](const RowError& bad) { ADD_FAILURE() << describe(bad); });
  ASSERT_TRUE(read && found.size() == 2);
  for (std::size_t at = 0; at < 2; ++at) {
    const Task& wanted = at == 0 ? task : named;
    EXPECT_EQ(found[at].task_id, wanted.task_id);
    EXPECT_EQ(found[at].reference_code, wanted.reference_code);
    EXPECT_EQ(found[at].entry_point, wanted.entry_point);
    EXPECT_EQ(found[at].input_shapes, wanted.input_shapes);
  }
}
TEST(Opening, AnEmptySystemPromptIsNotSent) {
  EXPECT_EQ(opening_messages({}, {}).size(), 1U);
}

}  // namespace
}  // namespace kw::refine
