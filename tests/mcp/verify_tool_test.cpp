// The tool `verify`: what it judges, and what it answers.
#include "mcp/verify_tool.h"

#include "mcp_world.h"

namespace kw::mcp::test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string refusal(World& world, json::object arguments) {
  json::object result = world.call("verify", std::move(arguments));
  EXPECT_TRUE(is_error(result));
  EXPECT_FALSE(result.contains("structuredContent"));
  EXPECT_TRUE(world.verifier.judged.empty());
  return text_of(result);
}

TEST(Verify, AnswersWithTheVerdictInShort) {
  World world;
  json::object result = world.call("verify", pair());
  EXPECT_FALSE(is_error(result));
  EXPECT_EQ(field(result, "status"), "correct");
  EXPECT_EQ(field(result, "correct"), true);
  EXPECT_EQ(field(result, "counts"), true);
  EXPECT_EQ(field(result, "speedup"), nullptr);
  EXPECT_EQ(field(result, "verdict_uri"), "kernelwright://verdict/v1");
  EXPECT_FALSE(result.at("structuredContent").get_object().contains("verdict"));
  EXPECT_THAT(text_of(result), HasSubstr("kernel: correct"));
  EXPECT_THAT(text_of(result), HasSubstr("not measured: no GPU"));
}

TEST(Verify, ShowsTheLineOfAFaultAndTheAdvice) {
  World world;
  world.verifier.verdict = failed_verdict;
  json::object result = world.call("verify", pair());
  EXPECT_FALSE(is_error(result));
  EXPECT_EQ(field(result, "correct"), false);
  EXPECT_EQ(field(result, "error_class"), "out_of_bounds");
  EXPECT_EQ(field(result, "line"), 5);
  EXPECT_EQ(field(result, "fault"), "kernel");
  EXPECT_THAT(text_of(result), HasSubstr(">    5 |     return x"));
  EXPECT_THAT(text_of(result), HasSubstr("help: Mask this access"));
}

TEST(Verify, AnswersWithEveryFieldOnRequest) {
  World world;
  json::object arguments = pair();
  arguments["full"] = true;
  json::object result = world.call("verify", arguments);
  EXPECT_EQ(field(result, "verdict").at("schema"), "kernelwright.verdict/1");
}

TEST(Verify, HidesNoCharactersInEveryField) {
  World world;
  world.verifier.verdict = [](const Job& job) {
    Verdict verdict = correct_verdict(job);
    verdict.printed = "left \u202e right\x1b[2J";
    return verdict;
  };
  json::object arguments = pair();
  arguments["full"] = true;
  const std::string text = json::serialize(world.call("verify", arguments));
  EXPECT_THAT(text, HasSubstr("left "));
  EXPECT_THAT(text, Not(HasSubstr("\u202e")));
  EXPECT_THAT(text, Not(HasSubstr("\\u001b")));
}

TEST(Verify, HasTheFieldsOfItsOutputSchema) {
  World world;
  world.initialize();
  json::object listed = world.ask("tools/list");
  const json::object& schema = listed.at("result").at("tools").at(0).at("outputSchema").get_object();
  json::object result = world.call("verify", pair());
  for (const json::value& name : schema.at("required").get_array())
    EXPECT_TRUE(result.at("structuredContent").get_object().contains(name.get_string())) << name;
  for (const auto& member : result.at("structuredContent").get_object())
    EXPECT_TRUE(schema.at("properties").get_object().contains(member.key())) << member.key();
}

// A right verdict on gradients, timed on a GPU and checked.
Verdict timed_verdict(const Job& job) {
  Verdict verdict = correct_verdict(job);
  verdict.trust = Trust::replay;
  verdict.speedup = 2;
  verdict.reference_time_ms = 0.16;
  verdict.kernel_time_ms = 0.08;
  verdict.timing.why_null.reset();
  verdict.timing.segments = Segments{{.reference_time_ms = 0.09, .kernel_time_ms = 0.03, .speedup = 3},
                                     {.reference_time_ms = 0.07, .kernel_time_ms = 0, .speedup = {}}};
  verdict.sanitized = {{.check = Sanitizer::bounds, .outcome = SanitizerOutcome::clean}};
  return verdict;
}

TEST(Verify, GivesTheTimesOfBothPasses) {
  World world;
  world.verifier.verdict = timed_verdict;
  const json::object result = world.call("verify", pair());
  EXPECT_THAT(text_of(result), HasSubstr("\n  forward pass: 3 (reference 0.09 ms, kernel 0.03 ms)\n"
                                         "  backward pass: (reference 0.07 ms, kernel 0 ms)\n"));
  EXPECT_EQ(field(result, "segments").at("forward").at("speedup"), 3.0);
}

TEST(Verify, SaysWhyThePassesWereNotTimed) {
  World world;
  world.verifier.verdict = [](const Job& job) {
    Verdict verdict = timed_verdict(job);
    verdict.timing.segments.reset();
    verdict.timing.segments_why_null = "the clocks disagree";
    return verdict;
  };
  EXPECT_THAT(text_of(world.call("verify", pair())),
              HasSubstr("passes: not timed one by one: the clocks disagree"));
}

TEST(Verify, GivesTheOutcomesOfSanitizers) {
  World world;
  world.verifier.verdict = timed_verdict;
  const json::object result = world.call("verify", pair());
  EXPECT_THAT(text_of(result), HasSubstr("sanitized: bounds clean"));
  EXPECT_EQ(field(result, "sanitized").at(0).at("outcome"), "clean");
}

TEST(Verify, LeavesVeryManyFindingsToTheResource) {
  World world;
  world.verifier.verdict = [](const Job& job) {
    Verdict verdict = timed_verdict(job);
    verdict.sanitized->front().findings.assign(1'000, {.kind = "read of 4 bytes"});
    return verdict;
  };
  const json::object result = world.call("verify", pair());
  EXPECT_FALSE(result.at("structuredContent").get_object().contains("sanitized"));
}

TEST(Verify, NamesNoPassesAndSanitizersWhereThereAreNone) {
  World world;
  const json::object result = world.call("verify", pair());
  EXPECT_THAT(json::serialize(result), Not(testing::AnyOf(HasSubstr("passes"), HasSubstr("saniti"))));
  EXPECT_FALSE(result.at("structuredContent").get_object().contains("segments"));
}

TEST(Verify, BoundsItsText) {
  World world;
  world.verifier.verdict = [](const Job& job) {
    Verdict verdict = failed_verdict(job);
    verdict.error = std::string(1'000'000, 'x') + "\x1b[2J";
    verdict.printed = std::string(1'000'000, 'y');
    return verdict;
  };
  json::object result = world.call("verify", pair());
  EXPECT_LE(json::serialize(result).size(), 64'000U);
  EXPECT_THAT(json::serialize(result), Not(HasSubstr("\\u001b")));
}

TEST(Verify, PassesOptionsEntriesAndShapes) {
  World world;
  json::object arguments{
      {"reference", "def f(x):\n    return x\n\n\ndef g(x):\n    return x\n"},
      {"kernel", "import triton\n\n\ndef run(x):\n    return x\n\n\ndef other(x):\n    return x\n"},
      {"entry_point", "g"},
      {"kernel_entry", "run"},
      {"input_shapes", {{"x", {{"shape", {4, 8}}, {"dtype", "float32"}}}}},
      {"options", {{"correctness_trials", 3}}}};
  EXPECT_FALSE(is_error(world.call("verify", arguments)));
  const Job& job = world.verifier.judged.at(0);
  EXPECT_EQ(job.task.entry_point, "g");
  EXPECT_EQ(job.candidate.entry, "run");
  EXPECT_EQ(job.options.correctness_trials, 3U);
  EXPECT_EQ(job.task.input_shapes, R"({"x":{"shape":[4,8],"dtype":"float32"}})");
}

TEST(Verify, NamesAnAmbiguousEntryInTheWordsOfItsArguments) {
  World world;
  json::object arguments =
      pair("import triton\n\n\ndef one(x):\n    return x\n\n\ndef two(x):\n    return x\n");
  const std::string text = refusal(world, arguments);
  EXPECT_THAT(text, HasSubstr("`kernel_entry: one`"));
  EXPECT_THAT(text, Not(HasSubstr("--")));
}

TEST(Verify, RefusesWrongArgumentsWithARemedy) {
  World world;
  EXPECT_THAT(refusal(world, {{"kernel", kernel}}), HasSubstr("give `reference`"));
  EXPECT_THAT(refusal(world, {{"reference", reference}, {"kernel", " \n"}}),
              HasSubstr("the kernel is empty"));
  EXPECT_THAT(refusal(world, {{"reference", reference}, {"kernel", std::string((1 << 20) + 1, 'x')}}),
              HasSubstr("the limit is 1048576"));
  json::object arguments = pair();
  arguments["options"] = json::object{{"tolerence", 1}};
  EXPECT_THAT(refusal(world, arguments), HasSubstr("the options are: "));
  arguments = pair();
  arguments["input_shapes"] = json::object{{"x", {{"shape", "big"}}}};
  EXPECT_THAT(refusal(world, arguments), HasSubstr("no shape of whole numbers"));
  arguments = pair();
  arguments["kernel_path"] = "kernel.py";
  EXPECT_THAT(refusal(world, arguments), HasSubstr("no argument `kernel_path`"));
}

TEST(Verify, SaysWhyTheVerifierDidNotStart) {
  World world;
  world.judge.failure = Error{"no Python with PyTorch was found", "`kernelwright doctor` says more"};
  EXPECT_THAT(refusal(world, pair()),
              HasSubstr("no Python with PyTorch was found\nhelp: `kernelwright doctor`"));
  world.judge.failure.reset();
  EXPECT_FALSE(is_error(world.call("verify", pair())));
}

TEST(Verify, ReadsFilesBelowTheRootAlone) {
  Folder folder;
  folder.write("root/reference.py", reference);
  folder.write("root/softmax.py", kernel);
  folder.write("root/answer.md", fmt::format("Here it is:\n```python\n{}```\n", kernel));
  folder.write("secret.py", "secret");
  auto root = RootFolder::open(folder.path("root"));
  ASSERT_TRUE(root);
  World world;
  world.root = &*root;
  world.restart();
  auto paths = [](const char* code) {
    return json::object{{"reference_path", "reference.py"}, {"kernel_path", code}};
  };
  EXPECT_THAT(refusal(world, paths("../secret.py")), Not(HasSubstr("no such file")));
  EXPECT_THAT(
      refusal(world, {{"reference", reference}, {"reference_path", "reference.py"}, {"kernel", kernel}}),
      HasSubstr("give one of them"));
  EXPECT_THAT(text_of(world.call("verify", paths("softmax.py"))), HasSubstr("softmax: correct"));
  EXPECT_FALSE(is_error(world.call("verify", paths("answer.md"))));
  EXPECT_EQ(world.verifier.judged.size(), 1U);  // the answer contains the same kernel
}

TEST(Verify, JudgesEqualWorkOnce) {
  World world;
  world.call("verify", pair());
  json::object again = world.call("verify", pair());
  EXPECT_EQ(world.verifier.judged.size(), 1U);
  EXPECT_EQ(field(again, "verdict_uri"), "kernelwright://verdict/v2");
}

}  // namespace
}  // namespace kw::mcp::test
