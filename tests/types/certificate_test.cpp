// Marks of a task, from the facts of its certificate; the certificate as JSON.
#include "types/certificate.h"

#include <gmock/gmock.h>

namespace kw {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TaskCertificate sound() {
  TaskCertificate task{.id = "softmax", .task_id = "t", .work = "w"};
  task.inputs = {{.input = "x", .dtype = "float32", .shape = {4, 8}, .varies = true, .values = "normal"}};
  task.outputs = {
      {.output = "output", .dtype = "float32", .shape = {4, 8}, .rms = 0.1, .reference_loss = 1e-8}};
  task.shapes = {{.version = "prime", .tried = true, .sizes = "{}"},
                 {.version = "empty", .tried = true, .why_not = "no empty input"}};
  return task;
}

TEST(Certificate, ASoundTaskHasNoMark) {
  EXPECT_THAT(marks_of(sound()), IsEmpty());
}

TEST(Certificate, AnEmptyAnswerOfAllOutputsIsNoneOfOneOutput) {
  TaskCertificate task = sound();
  task.empty_answers = {"zeros"};
  task.outputs[0].empty_answers = {"zeros"};
  EXPECT_THAT(marks_of(task), ElementsAre(TaskMark::proves_nothing));
  EXPECT_EQ(in_words(TaskMark::proves_nothing, task), "proves_nothing (zeros)");
}

TEST(Certificate, OneOfSeveralOutputsMayBeEmpty) {
  TaskCertificate task = sound();
  task.outputs.push_back({.output = "output[1]", .empty_answers = {"zeros"}});
  EXPECT_THAT(marks_of(task), ElementsAre(TaskMark::empty_output));
  EXPECT_EQ(in_words(TaskMark::empty_output, task), "empty_output (output[1])");
}

TEST(Certificate, MarksOfInputs) {
  TaskCertificate task = sound();
  task.inputs.push_back({.input = "mask", .varies = false});
  task.inputs.push_back({.input = "y", .varies = true, .ignored = true});
  EXPECT_THAT(marks_of(task), ElementsAre(TaskMark::ignores_input, TaskMark::constant_input));
  EXPECT_EQ(in_words(TaskMark::constant_input, task), "constant_input (mask)");
  EXPECT_EQ(in_words(TaskMark::ignores_input, task), "ignores_input (y)");
}

TEST(Certificate, MarksOfOutputsAndOfTheWholeTask) {
  TaskCertificate task = sound();
  task.outputs[0].ill_conditioned = true;
  task.outputs.push_back({.output = "output[1]", .why_unknown = NoErrorRatio::nonfinite});
  task.weak_answers = {"bfloat16", "half"};
  task.random = task.unseeded = true;
  EXPECT_THAT(marks_of(task), ElementsAre(TaskMark::weak, TaskMark::nonfinite, TaskMark::random,
                                          TaskMark::unseeded, TaskMark::ill_conditioned));
  EXPECT_EQ(in_words(TaskMark::weak, task), "weak (bfloat16, half)");
}

TEST(Certificate, EmptyInputsAreNoOtherShape) {
  TaskCertificate task = sound();
  task.shapes = {{.version = "prime", .tried = true, .why_not = "no size may change"},
                 {.version = "empty", .tried = true, .sizes = "{}"}};
  EXPECT_THAT(marks_of(task), ElementsAre(TaskMark::fixed_shapes));
}

TEST(Certificate, AShapeThatWasNotTriedMayBePossible) {
  TaskCertificate task = sound();
  task.shapes = {{.version = "prime", .tried = false, .why_not = "it took too long"},
                 {.version = "one", .tried = true, .why_not = "no size may change"}};
  EXPECT_THAT(marks_of(task), IsEmpty());
}

TEST(Certificate, OnlyAFaultOfTheTaskRefusesIt) {
  TaskCertificate task{.id = "a", .task_id = "t", .work = "w", .fault = Fault::task, .error = "it raised"};
  EXPECT_THAT(marks_of(task), ElementsAre(TaskMark::refused));
  task.fault = Fault::infrastructure;
  EXPECT_THAT(marks_of(task), IsEmpty());
}

TEST(Certificate, JsonReadsBackAsItWas) {
  TaskCertificate task = sound();
  task.weak_answers = {"half"};
  task.marks = marks_of(task);
  task.reduced_sizes = R"({"n": 64})";
  const auto written = to_json(task);
  auto read = certificate_from_json(written);
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(to_json(*read), written);
}

TEST(Certificate, AnotherObjectIsNone) {
  EXPECT_FALSE(certificate_from_json({{"schema", "kernelwright.verdict/1"}}));
  EXPECT_FALSE(certificate_from_json({{"schema", certificate_schema}, {"id", "x"}}));
}

}  // namespace
}  // namespace kw
