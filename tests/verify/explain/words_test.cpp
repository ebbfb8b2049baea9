// The texts for people, class by class and reason by reason.
#include "verify/explain/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "world.h"

namespace kw::explain {
namespace {

template <typename Enum>
std::vector<std::string_view> sentences(Enum last) {
  std::vector<std::string_view> all;
  for (int value = 0; value <= static_cast<int>(last); ++value) {
    if constexpr (requires(Enum each) { words_of(each).what; })
      all.push_back(words_of(static_cast<Enum>(value)).what);
    else
      all.push_back(words_of(static_cast<Enum>(value)));
  }
  return all;
}

TEST(Words, EveryValueHasItsOwn) {
  using testing::Each;
  using testing::Not;
  EXPECT_THAT(sentences(ErrorClass::infrastructure), Each(Not("")));
  EXPECT_THAT(sentences(CountsReason::nondeterministic), Each(Not("")));
  EXPECT_THAT(sentences(Stage::done), Each(Not("")));
  EXPECT_THAT(sentences(Fault::infrastructure), Each(Not("")));
  EXPECT_THAT(sentences(Trust::interpreter), Each(Not("")));
}
// A change of what models are told makes runs incomparable: advice for people is not told.
TEST(Words, AdviceForPeopleIsNotToldToModels) {
  EXPECT_EQ(words_of(ErrorClass::wrong_value).told, "It runs, but the values are wrong.");
  EXPECT_EQ(words_of(ErrorClass::process_died).told, words_of(ErrorClass::process_died).what);
}
TEST(Words, AreFoundByTheNameOfAValue) {
  EXPECT_EQ(sentence_of<ErrorClass>("compile_error"), "A kernel does not compile.");
  EXPECT_THAT(sentence_of<CountsReason>("decoy"), testing::HasSubstr("do nothing"));
  EXPECT_EQ(sentence_of<ErrorClass>("no_answer"), "");
}
TEST(Words, AVerdictInShort) {
  EXPECT_EQ(in_short(Status::correct, true, ""), "correct");
  EXPECT_EQ(in_short(Status::correct, false, "decoy"), "correct, does not count (decoy)");
  EXPECT_EQ(in_short(Status::failed, {}, "timeout"), "failed (timeout)");
}

TEST(ErrorClassInWords, SyntaxError) {
  std::string open = "import torch\nx = torch.zeros((4, 4)\n";
  EXPECT_EQ(shown(failed(ErrorClass::syntax_error, Stage::parse,
                         "SyntaxError: '(' was never closed (kernel.py, line 2)", 2),
                  open),
            R"(relu: failed (syntax_error)
  The module is not valid Python.
  SyntaxError: '(' was never closed (kernel.py, line 2)
  --> kernel.py:2:16
       1 | import torch
  >    2 | x = torch.zeros((4, 4)
         |                ^
  help: Correct the marked line. A module that was cut off often lacks a closing bracket or quote
        at its end.
  = stage parse: its source is parsed; interpreted without a GPU
)");
}
TEST(ErrorClassInWords, MissingEntry) {
  EXPECT_EQ(shown(failed(ErrorClass::missing_entry, Stage::static_,
                         "the candidate defines none of: ModelNew, triton_kernel_wrapper")),
            R"(relu: failed (missing_entry)
  There was nothing to call.
  the candidate defines none of: ModelNew, triton_kernel_wrapper
  help: Define the class ModelNew, the function triton_kernel_wrapper, or the reference's name
        followed by New, at the top level of the module.
  = stage static: its source is examined, before anything runs; interpreted without a GPU
)");
}
TEST(ErrorClassInWords, Forbidden) {
  EXPECT_EQ(shown(failed(ErrorClass::forbidden, Stage::static_, "line 1: imports ctypes is forbidden", 1),
                  "import ctypes\nimport torch\n"),
            R"(relu: failed (forbidden)
  The module was refused.
  line 1: imports ctypes is forbidden
  --> kernel.py:1:8
  >    1 | import ctypes
         |        ^^^^^^
       2 | import torch
  help: Leave this out: a kernel does not need it.
  = stage static: its source is examined, before anything runs; interpreted without a GPU
)");
}
TEST(ErrorClassInWords, ImportError) {
  EXPECT_EQ(shown(failed(ErrorClass::import_error, Stage::import_,
                         "ModuleNotFoundError: No module named 'triton.ops'", 1),
                  "from triton.ops import matmul\n@triton.jit\ndef k(): pass\nk[(1,)]()\n"),
            R"(relu: failed (import_error)
  The module could not be imported.
  ModuleNotFoundError: No module named 'triton.ops'
  --> kernel.py:1:6
  >    1 | from triton.ops import matmul
         |      ^^^^^^^^^^
       2 | @triton.jit
       3 | def k(): pass
  help: Only PyTorch, Triton, the standard library and a few other packages are available.
  = stage import: it is imported; interpreted without a GPU
)");
}
TEST(ErrorClassInWords, CompileErrorWithTheCompilersCaretInItsLine) {
  Verdict refused = failed(ErrorClass::compile_error, Stage::compile,
                           "AttributeError(\"module 'triton.language' has no attribute 'tanh'\")", 8);
  refused.error_detail->compiler_text =
      "at 2:8:\ndef double(p, n):\n    x = tl.load(p)\n        ^\nAttributeError(\"...\")";
  EXPECT_EQ(shown(refused), R"(relu: failed (compile_error)
  A kernel does not compile.
  AttributeError("module 'triton.language' has no attribute 'tanh'")
  --> kernel.py:8:9
       6 | @triton.jit
       7 | def double(p, n):
  >    8 |     x = tl.load(p)
         |         ^^^^^^^
       9 |     tl.store(p, x * 2)
  help: Correct the operation that the compiler names. A kernel may use triton.language, other
        @triton.jit functions and constexpr values only.
  = stage compile: its kernels are compiled; interpreted without a GPU
)");
}
TEST(ErrorClassInWords, CompileErrorOfACompilerThatNamesNoLineOfTheSource) {
  Verdict refused = failed(ErrorClass::compile_error, Stage::compile, "PTXASError: ptxas failed");
  refused.error_detail.emplace();
  refused.error_detail->compiler_text = "ptxas fatal: unresolved extern function 'f'\nptxas failed";
  EXPECT_EQ(shown(refused), R"(relu: failed (compile_error)
  A kernel does not compile.
  PTXASError: ptxas failed
  The compiler says:
    ptxas fatal: unresolved extern function 'f'
    ptxas failed
  help: Correct the operation that the compiler names. A kernel may use triton.language, other
        @triton.jit functions and constexpr values only.
  = stage compile: its kernels are compiled; interpreted without a GPU
)");
}
TEST(ErrorClassInWords, OutOfResources) {
  EXPECT_EQ(shown(failed(ErrorClass::out_of_resources, Stage::compile,
                         "OutOfResources: shared memory, required 300000, limit 232448")),
            R"(relu: failed (out_of_resources)
  A kernel needs more of the device than there is.
  OutOfResources: shared memory, required 300000, limit 232448
  help: Smaller blocks, fewer stages (num_stages) or another number of warps need less.
  = stage compile: its kernels are compiled; interpreted without a GPU
)");
}
TEST(ErrorClassInWords, RuntimeError) {
  EXPECT_EQ(
      shown(failed(ErrorClass::runtime_error, Stage::run, "NameError: name 'double' is not defined", 13)),
      R"(relu: failed (runtime_error)
  The call raised an error.
  NameError: name 'double' is not defined
  --> kernel.py:13:5
      12 | def triton_kernel_wrapper(x):
  >   13 |     double[(1,)](x, 4)
         |     ^^^^^^
      14 |     return x
  help: Correct the marked line. With --json, `error_detail.traceback` contains the calls that led
        to it.
  = stage run: it is called; interpreted without a GPU
)");
}
TEST(ErrorClassInWords, IllegalMemoryAccess) {
  Verdict broke = failed(ErrorClass::illegal_memory_access, Stage::run, "an illegal memory access");
  broke.trust = Trust::in_process;
  EXPECT_EQ(shown(broke), R"(relu: failed (illegal_memory_access)
  A kernel touched memory that does not belong to it.
  an illegal memory access
  help: Check the masks of all loads and stores, the strides, and the sizes handed to the launch.
  = stage run: it is called; judged on a GPU, in the candidate's own process
)");
}
TEST(ErrorClassInWords, OutOfBounds) {
  EXPECT_EQ(shown(failed(ErrorClass::out_of_bounds, Stage::run,
                         "OutOfBounds: out-of-bounds load in double, line 8: 212 of 512 lanes lie beyond "
                         "every tensor of this launch (0 bytes beyond `p`)",
                         8)),
            R"(relu: failed (out_of_bounds)
  A kernel reads or writes outside of its tensors.
  OutOfBounds: out-of-bounds load in double, line 8: 212 of 512 lanes lie beyond every tensor of
  this launch (0 bytes beyond `p`)
  --> kernel.py:8:9
       6 | @triton.jit
       7 | def double(p, n):
  >    8 |     x = tl.load(p)
         |         ^^^^^^^
       9 |     tl.store(p, x * 2)
  help: Mask this access, or correct the offsets: no lane may access memory past the end, even if
        its value is unused.
  = stage run: it is called; interpreted without a GPU
)");
}
TEST(ErrorClassInWords, Timeout) {
  EXPECT_EQ(shown(failed(ErrorClass::timeout, Stage::run, "the candidate did not return in time")),
            R"(relu: failed (timeout)
  It did not end in time.
  the candidate did not return in time
  help: Look for a loop that never ends, a wait for another program, or work that grows with the
        square of a size.
  = stage run: it is called; interpreted without a GPU
)");
}
TEST(ErrorClassInWords, OutOfMemory) {
  EXPECT_EQ(shown(failed(ErrorClass::out_of_memory, Stage::run, "CUDA out of memory")),
            R"(relu: failed (out_of_memory)
  It ran out of memory.
  CUDA out of memory
  help: Compute in blocks instead of building large intermediate tensors.
  = stage run: it is called; interpreted without a GPU
)");
}
TEST(ErrorClassInWords, ProcessDied) {
  EXPECT_EQ(shown(failed(ErrorClass::process_died, Stage::run,
                         "the candidate's process exited with code 3 before it had answered")),
            R"(relu: failed (process_died)
  The process in which it ran ended before there was a result.
  the candidate's process exited with code 3 before it had answered
  help: Look for a call of exit, and for a crash in native code. --show-output prints the end of
        its output.
  = stage run: it is called; interpreted without a GPU
)");
}
TEST(ErrorClassInWords, WrongStructure) {
  EXPECT_EQ(shown(incorrect(ErrorClass::wrong_structure, "output: expected a tuple of 2, got None")),
            R"(relu: incorrect (wrong_structure)
  It runs, but returns other outputs than the reference, or other lists, tuples or dicts.
  output: expected a tuple of 2, got None
  help: Return as many outputs as the reference, in the same lists, tuples and dicts.
  = stage judge: its outputs are compared with the reference's; interpreted without a GPU
)");
}
TEST(ErrorClassInWords, WrongShape) {
  Verdict wrong = incorrect(ErrorClass::wrong_shape, "output: expected shape [64], got [64, 1]");
  wrong.comparison->max_abs_error = wrong.comparison->max_rel_error = 0;
  EXPECT_EQ(shown(wrong), R"(relu: incorrect (wrong_shape)
  It runs, but an output has another shape than the reference's.
  output: expected shape [64], got [64, 1]
  help: Allocate the output with the reference's shape; dimensions of size 1 belong to it.
  = stage judge: its outputs are compared with the reference's; interpreted without a GPU
)");
}
TEST(ErrorClassInWords, WrongDtype) {
  EXPECT_EQ(shown(incorrect(ErrorClass::wrong_dtype, "output: expected bool, got int32")),
            R"(relu: incorrect (wrong_dtype)
  It runs, but an output has another dtype than the reference's.
  output: expected bool, got int32
  help: Allocate the output with the reference's dtype, and convert values before the store.
  = stage judge: its outputs are compared with the reference's; interpreted without a GPU
)");
}
TEST(ErrorClassInWords, WrongValueWithItsMismatchAndFindings) {
  Verdict wrong = incorrect(ErrorClass::wrong_value, "output: 3 values differ");
  wrong.comparison->first_mismatch = FirstMismatch{"output", {0, 1}, 1.5, 2.5};
  wrong.comparison->mismatched_share = 0.25;
  wrong.comparison->max_abs_error = 1;
  wrong.comparison->max_rel_error = 0.667;
  wrong.comparison->findings = {"the difference is what TF32 would give"};
  EXPECT_EQ(shown(wrong), R"(relu: incorrect (wrong_value)
  It runs, but the values are wrong.
  output: 3 values differ
  First at output[0, 1]: expected 1.5, got 2.5
  Over all trials: 25% of all values are wrong, largest absolute error 1, largest relative error
  0.667
  note: the difference is what TF32 would give
  help: Follow the first mismatch through the kernel. Frequent causes: offsets and masks, the
        reduced axis, the order of strides, and TF32 in tl.dot.
  = stage judge: its outputs are compared with the reference's; interpreted without a GPU
)");
}
TEST(ErrorClassInWords, Nonfinite) {
  EXPECT_EQ(shown(incorrect(ErrorClass::nonfinite, "output: 4 values (1.0%) are NaN in one of the two only")),
            R"(relu: incorrect (nonfinite)
  It runs, but NaN or infinity occur at wrong positions, or are missing.
  output: 4 values (1.0%) are NaN in one of the two only
  help: Look at masked lanes (other=), divisions by zero, and exponents without the maximum
        subtracted.
  = stage judge: its outputs are compared with the reference's; interpreted without a GPU
)");
}
TEST(ErrorClassInWords, InputModified) {
  EXPECT_EQ(shown(incorrect(ErrorClass::input_modified, "the call changed input a")),
            R"(relu: incorrect (input_modified)
  It changed one of its inputs, which the reference leaves alone.
  the call changed input a
  help: Write into a new tensor.
  = stage judge: its outputs are compared with the reference's; interpreted without a GPU
)");
}
TEST(ErrorClassInWords, Nondeterministic) {
  EXPECT_EQ(shown(incorrect(ErrorClass::nondeterministic, "two calls differ")),
            R"(relu: incorrect (nondeterministic)
  Its result differs between equal calls.
  two calls differ
  help: Look for memory that is read before it is written, atomics whose order matters, and random
        numbers.
  = stage judge: its outputs are compared with the reference's; interpreted without a GPU
)");
}
TEST(ErrorClassInWords, LiveReplayMismatch) {
  Verdict wrong = incorrect(ErrorClass::live_replay_mismatch, "right only with work that nobody waits for");
  wrong.stage = Stage::replay;
  wrong.trust = Trust::replay;
  EXPECT_EQ(shown(wrong), R"(relu: incorrect (live_replay_mismatch)
  Its result needs work on a stream that the caller's stream never waits for.
  right only with work that nobody waits for
  help: Launch on the current stream, or make it wait for the other one (wait_stream) before the
        call returns.
  = stage replay: its recording is replayed; judged on a GPU, away from the candidate's process
)");
}
TEST(ErrorClassInWords, TaskInvalidPointsIntoTheReference) {
  Verdict invalid =
      failed(ErrorClass::task_invalid, Stage::prepare, "NameError: name 'torhc' is not defined", 2);
  invalid.status = Status::error;
  invalid.fault = Fault::task;
  invalid.trust.reset();
  invalid.error_detail->file = "reference.py";
  EXPECT_EQ(to_terminal(
                explain(invalid, {.candidate = code, .reference = "import torch\nx = torhc.ones(3)\n"}), {}),
            R"(relu: error (task_invalid)
  The task itself does not work: its reference or its inputs fail.
  NameError: name 'torhc' is not defined
  --> reference.py:2:5
       1 | import torch
  >    2 | x = torhc.ones(3)
         |     ^^^^^
  help: Correct the reference or its inputs; the message says what is wrong with them.
  = stage prepare: the reference and its inputs are prepared; the task is at fault, not the kernel
)");
}
TEST(ErrorClassInWords, UnsupportedCandidate) {
  Verdict skipped = failed(ErrorClass::unsupported_candidate, Stage::run,
                           "Unsupported: cannot be run without a GPU: inline PTX");
  skipped.status = Status::skipped;
  skipped.fault.reset();
  EXPECT_EQ(shown(skipped), R"(relu: skipped (unsupported_candidate)
  It could not be run on this machine, so it was not judged.
  Unsupported: cannot be run without a GPU: inline PTX
  help: Judge it on a machine with a GPU, there or with --evaluator URL; `kernelwright doctor`
        names what else this machine lacks.
  = stage run: it is called; interpreted without a GPU
)");
}
TEST(ErrorClassInWords, TooLarge) {
  Verdict skipped =
      failed(ErrorClass::too_large, Stage::run, "the interpreter did not get through one launch");
  skipped.status = Status::skipped;
  skipped.fault.reset();
  EXPECT_EQ(shown(skipped), R"(relu: skipped (too_large)
  It was too large to be tried in full.
  the interpreter did not get through one launch
  help: Give the task smaller inputs, or judge it on a GPU, which needs no smaller shapes.
  = stage run: it is called; interpreted without a GPU
)");
}
TEST(ErrorClassInWords, Infrastructure) {
  Verdict none = failed(ErrorClass::infrastructure, Stage::prepare, "the oracle ended");
  none.status = Status::error;
  none.fault = Fault::infrastructure;
  EXPECT_EQ(shown(none), R"(relu: error (infrastructure)
  This program or the machine failed, so that there is no verdict.
  the oracle ended
  help: Run the same command again; `kernelwright doctor` says what a machine lacks.
  = stage prepare: the reference and its inputs are prepared; interpreted without a GPU; this
    program or the machine is at fault, not the kernel
)");
}

TEST(CountsReasonInWords, ProvesNothingWithTheAnswerThatPasses) {
  Verdict right = does_not_count(CountsReason::proves_nothing);
  right.comparison.emplace();
  right.comparison->findings = {"zeros pass this task"};
  EXPECT_EQ(shown(right), R"(relu: correct, does not count (proves_nothing)
  The result is right, but this task is no evidence: an empty answer passes it too.
  note: zeros pass this task
  help: No kernel can count for this task: give it inputs for which zeros, a constant or a returned
        input are wrong.
  = stage done: everything was tried; interpreted without a GPU
)");
}
TEST(CountsReasonInWords, LibraryOnly) {
  EXPECT_EQ(shown(does_not_count(CountsReason::library_only)),
            R"(relu: correct, does not count (library_only)
  The result is right, but it does not count: the call launched no kernel of the module's own.
  note: a call launches no Triton kernel of the module
  help: PyTorch may prepare the data; kernels marked @triton.jit must do the computing. A module
        that falls back on PyTorch when something fails ends here too.
  = stage done: everything was tried; interpreted without a GPU
)");
}
TEST(CountsReasonInWords, Decoy) {
  EXPECT_EQ(shown(does_not_count(CountsReason::decoy)), R"(relu: correct, does not count (decoy)
  The result is right, but it does not count: it stays right when the module's launches do nothing,
  so something else computes it.
  help: Let the kernels do the work.
  = stage done: everything was tried; interpreted without a GPU
)");
}
TEST(CountsReasonInWords, NotTriton) {
  EXPECT_EQ(shown(does_not_count(CountsReason::not_triton)),
            R"(relu: correct, does not count (not_triton)
  The result is right, but it does not count: the call launched no Triton kernel of the module's
  own, and this judging requires one (--require triton).
  help: Write the kernel in Triton, or judge with --require own, where CUDA C++ of the module's own
        counts too.
  = stage done: everything was tried; interpreted without a GPU
)");
}
TEST(CountsReasonInWords, WrapsReference) {
  EXPECT_EQ(shown(does_not_count(CountsReason::wraps_reference)),
            R"(relu: correct, does not count (wraps_reference)
  The result is right, but it does not count: the library kernels that the reference launches do
  nearly all of the work here too.
  help: Replace library kernels that take more than 5% of the reference's device time with kernels
        of the module's own. `device_time_share` holds the shares.
  = stage done: everything was tried; interpreted without a GPU
)");
}
TEST(CountsReasonInWords, Nondeterministic) {
  EXPECT_EQ(shown(does_not_count(CountsReason::nondeterministic)),
            R"(relu: correct, does not count (nondeterministic)
  The result is right, but the reference draws random numbers, so a right result is no evidence.
  help: No kernel can count for this task: remove the random numbers from the reference.
  = stage done: everything was tried; interpreted without a GPU
)");
}

}  // namespace
}  // namespace kw::explain
