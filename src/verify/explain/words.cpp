#include "verify/explain/words.h"

#include <fmt/format.h>

namespace kw::explain {
namespace {

// Advice for people alone: models are told the sentence without it.
constexpr Words for_people(std::string_view what, std::string_view advice) {
  return {what, advice, what};
}

// Models are told the same of all three forms, and then the error.
constexpr Words of_form(std::string_view what, std::string_view advice) {
  return {what, advice, "It runs, but its result does not have the form of the reference's result."};
}

}  // namespace

Words words_of(Status status) {
  switch (status) {
    case Status::correct:
      return {"The result equals the reference's in all trials.",
              "Look at `counts` too: only a right result that counts is evidence for the kernel."};
    case Status::incorrect:
      return {"The candidate ran, and its result differs from the reference's.",
              "Compare the kernel with the reference at the index of the first mismatch; `error_class` names "
              "the kind of difference."};
    case Status::failed:
      return {"The candidate broke before there was a result to compare.",
              "Correct the error that the verdict names; `error_class` names its kind."};
    case Status::skipped:
      return {"The candidate was not judged to the end: it is neither right nor wrong.",
              "Judge it on another machine, usually one with a GPU; `error` names what this machine lacks."};
    case Status::error:
      return {"There is no verdict on the candidate: the task, this program or the machine failed.",
              "`fault` names which of them: correct the task, or run the command again."};
  }
  return {};
}

// Without a default, a new class does not compile until it has its sentences.
Words words_of(ErrorClass error_class) {
  switch (error_class) {
    case ErrorClass::syntax_error:
      return for_people("The module is not valid Python.",
                        "Correct the marked line. A module that was cut off often lacks a closing bracket or "
                        "quote at its end.");
    case ErrorClass::missing_entry:
      return for_people("There was nothing to call.",
                        "Define the class ModelNew, the function triton_kernel_wrapper, or the reference's "
                        "name followed by New, at the top level of the module.");
    case ErrorClass::forbidden:
      return {"The module was refused.", "Leave this out: a kernel does not need it."};
    case ErrorClass::import_error:
      return {"The module could not be imported.",
              "Only PyTorch, Triton, the standard library and a few other packages are available."};
    case ErrorClass::compile_error:
      return for_people("A kernel does not compile.",
                        "Correct the operation that the compiler names. A kernel may use triton.language, "
                        "other @triton.jit functions and constexpr values only.");
    case ErrorClass::out_of_resources:
      return {"A kernel needs more of the device than there is.",
              "Smaller blocks, fewer stages (num_stages) or another number of warps need less."};
    case ErrorClass::runtime_error:
      return for_people("The call raised an error.",
                        "Correct the marked line. With --json, `error_detail.traceback` contains the calls "
                        "that led to it.");
    case ErrorClass::illegal_memory_access:
      return {"A kernel touched memory that does not belong to it.",
              "Check the masks of all loads and stores, the strides, and the sizes handed to the launch."};
    case ErrorClass::out_of_bounds:
      return {"A kernel reads or writes outside of its tensors.",
              "Mask this access, or correct the offsets: no lane may access memory past the end, even if its "
              "value is unused."};
    case ErrorClass::timeout:
      return {"It did not end in time.",
              "Look for a loop that never ends, a wait for another program, or work that grows with the "
              "square of a size."};
    case ErrorClass::out_of_memory:
      return {"It ran out of memory.", "Compute in blocks instead of building large intermediate tensors."};
    case ErrorClass::process_died:
      return for_people("The process in which it ran ended before there was a result.",
                        "Look for a call of exit, and for a crash in native code. --show-output prints the "
                        "end of its output.");
    case ErrorClass::wrong_structure:
      return of_form(
          "It runs, but returns other outputs than the reference, or other lists, tuples or dicts.",
          "Return as many outputs as the reference, in the same lists, tuples and dicts.");
    case ErrorClass::wrong_shape:
      return of_form("It runs, but an output has another shape than the reference's.",
                     "Allocate the output with the reference's shape; dimensions of size 1 belong to it.");
    case ErrorClass::wrong_dtype:
      return of_form("It runs, but an output has another dtype than the reference's.",
                     "Allocate the output with the reference's dtype, and convert values before the store.");
    case ErrorClass::no_gradient:
      return {
          "It runs, but does not give the gradients of its inputs and parameters, which are judged too.",
          "Put the launches into a torch.autograd.Function whose backward returns the gradient of each "
          "input and parameter, and keep the reference's names of parameters. Or define a function "
          "triton_kernel_backward beside the entry: it takes the cotangents, then the inputs and weights, "
          "and returns their gradients in order."};
    case ErrorClass::wrong_value:
      return for_people("It runs, but the values are wrong.",
                        "Follow the first mismatch through the kernel. Frequent causes: offsets and masks, "
                        "the reduced axis, the order of strides, and TF32 in tl.dot.");
    case ErrorClass::nonfinite:
      return {
          "It runs, but NaN or infinity occur at wrong positions, or are missing.",
          "Look at masked lanes (other=), divisions by zero, and exponents without the maximum subtracted."};
    case ErrorClass::input_modified:
      return {"It changed one of its inputs, which the reference leaves alone.", "Write into a new tensor."};
    case ErrorClass::nondeterministic:
      return {"Its result differs between equal calls.",
              "Look for memory that is read before it is written, atomics whose order matters, and random "
              "numbers.",
              did_not_work};
    case ErrorClass::live_replay_mismatch:
      return {"Its result needs work on a stream that the caller's stream never waits for.",
              "Launch on the current stream, or make it wait for the other one (wait_stream) before the call "
              "returns.",
              did_not_work};
    case ErrorClass::race:
      return {
          "It depends on an order that a device does not promise: of the programs of a launch, of launches "
          "on "
          "several streams, or of the threads of a block.",
          "A device runs the programs of a launch in any order, and at the same time. Let no program read "
          "what another one of the same launch writes, or use atomic operations; a second launch on the same "
          "stream waits for the first. Between streams, let the later one wait (wait_stream, wait_event); an "
          "event stands for what was launched before it was recorded. Between threads of a block, put a "
          "barrier.",
          did_not_work};
    case ErrorClass::task_invalid:
      return {"The task itself does not work: its reference or its inputs fail.",
              "Correct the reference or its inputs; the message says what is wrong with them.", did_not_work};
    case ErrorClass::unsupported_candidate:
      return for_people("It could not be run on this machine, so it was not judged.",
                        "Judge it on a machine with a GPU, there or with --evaluator URL; `kernelwright "
                        "doctor` names what else this machine lacks.");
    case ErrorClass::too_large:
      return for_people("It was too large to be tried in full.",
                        "Give the task smaller inputs, or judge it on a GPU, which needs no smaller shapes.");
    case ErrorClass::infrastructure:
      return {"This program or the machine failed, so that there is no verdict.",
              "Run the same command again; `kernelwright doctor` says what a machine lacks.", did_not_work};
  }
  return {};
}

Words words_of(CountsReason reason) {
  switch (reason) {
    case CountsReason::library_only:
      return {"The result is right, but it does not count: the call launched no kernel of the module's own.",
              "PyTorch may prepare the data; kernels marked @triton.jit must do the computing. A module that "
              "falls back on PyTorch when something fails ends here too.",
              "The result is right, but it does not count: the call launched no kernel of your own. PyTorch "
              "may prepare the data, and your @triton.jit kernels must do the computing. If the module falls "
              "back on PyTorch when something fails, take that out."};
    case CountsReason::decoy:
      return {
          "The result is right, but it does not count: it stays right when the module's launches do "
          "nothing, so something else computes it.",
          "Let the kernels do the work.",
          "The result is right, but it does not count: it stays right when your launches do nothing, so "
          "something else computes it. Let the kernels do the work."};
    case CountsReason::proves_nothing:
      return {"The result is right, but this task is no evidence: an empty answer passes it too.",
              "No kernel can count for this task: give it inputs for which zeros, a constant or a returned "
              "input are wrong.",
              "The result is right, but this task is no evidence: an empty answer passes it too."};
    case CountsReason::nondeterministic:
      return {
          "The result is right, but the reference draws random numbers, so a right result is no evidence.",
          "No kernel can count for this task: remove the random numbers from the reference.",
          "The result is right, but the reference draws random numbers, so a right result is no evidence."};
    case CountsReason::not_triton:
      return {
          "The result is right, but it does not count: the call launched no Triton kernel of the module's "
          "own, and this judging requires one (--require triton).",
          "Write the kernel in Triton, or judge with --require own, where CUDA C++ of the module's own "
          "counts too.",
          "The result is right, but it does not count: the call launched no Triton kernel of your own. "
          "Write the kernel in Triton."};
    case CountsReason::wraps_reference:
      return {
          "The result is right, but it does not count: the library kernels that the reference launches "
          "do nearly all of the work here too.",
          "Replace library kernels that take more than 5% of the reference's device time with kernels of "
          "the module's own. `device_time_share` holds the shares.",
          "The result is right, but it does not count: you launch the reference's library kernels, which "
          "take nearly all of its time. Replace more of them with your own @triton.jit kernels."};
    case CountsReason::specialised:
      return {
          "The result is right on the task's own inputs, but it does not count: on other inputs the kernel "
          "is wrong where the reference is sound.",
          "Compute the function for every input. `generality` names the inputs on which it is wrong; "
          "--inputs given judges on the task's own inputs only, and --varied-shapes report does not ask for "
          "other shapes.",
          "The result is right on the task's own inputs, but it does not count: on other inputs the kernel "
          "is wrong. Compute the function for every input, not for one distribution."};
    case CountsReason::precision:
      return {
          "The result is within the tolerance, but it does not count: its error is what operands in bfloat16 "
          "give, and the task's are float32.",
          "Keep loads, products and intermediate values in float32; tl.dot may use TF32. Judge with "
          "--precision bf16 where bfloat16 is meant.",
          "The result is within the tolerance, but it does not count: you compute float32 operands in "
          "bfloat16. Keep loads, products and intermediate values in float32."};
  }
  return {};
}

std::string_view words_of(Stage stage) {
  switch (stage) {
    case Stage::parse:
      return "its source is parsed";
    case Stage::static_:
      return "its source is examined, before anything runs";
    case Stage::prepare:
      return "the reference and its inputs are prepared";
    case Stage::import_:
      return "it is imported";
    case Stage::compile:
      return "its kernels are compiled";
    case Stage::run:
      return "it is called";
    case Stage::record:
      return "its work on the device is recorded";
    case Stage::replay:
      return "its recording is replayed";
    case Stage::judge:
      return "its outputs are compared with the reference's";
    case Stage::time:
      return "it is timed";
    case Stage::done:
      return "everything was tried";
  }
  return {};
}

std::string_view words_of(Fault fault) {
  switch (fault) {
    case Fault::kernel:
      return "the kernel is at fault";
    case Fault::task:
      return "the task is at fault, not the kernel";
    case Fault::infrastructure:
      return "this program or the machine is at fault, not the kernel";
  }
  return {};
}

std::string_view words_of(Trust trust, bool timed) {
  switch (trust) {
    case Trust::replay:
      return timed ? "judged and timed on a GPU, away from the candidate's process"
                   : "judged on a GPU, away from the candidate's process";
    case Trust::in_process:
      return timed ? "judged on a GPU, and timed in the candidate's own process, which could falsify the time"
                   : "judged on a GPU, in the candidate's own process";
    case Trust::interpreter:
      return "interpreted without a GPU";
  }
  return {};
}

std::string_view words_of(Shapes shapes) {
  switch (shapes) {
    case Shapes::given:
      return "it was judged at the sizes of the task";
    case Shapes::reduced:
      return "it was judged at smaller sizes than the task's";
  }
  return {};
}

std::string_view words_of(IsolationLevel level) {
  switch (level) {
    case IsolationLevel::full:
      return "its process had all layers of the sandbox";
    case IsolationLevel::partial:
      return "its process had some layers of the sandbox";
    case IsolationLevel::process:
      return "its process was a separate one, without a sandbox";
  }
  return {};
}

std::string_view advice_of(Stage stage) {
  switch (stage) {
    case Stage::parse:
    case Stage::static_:
    case Stage::import_:
    case Stage::compile:
    case Stage::run:
    case Stage::record:
    case Stage::replay:
    case Stage::judge:
    case Stage::time:
      return "A verdict that ends here names the reason in `error`: correct the candidate there.";
    case Stage::prepare:
      return "A verdict that ends here concerns the reference and its inputs: correct the task.";
    case Stage::done:
      return "Nothing: the verdict is complete.";
  }
  return {};
}

std::string_view advice_of(Fault fault) {
  switch (fault) {
    case Fault::kernel:
      return "Correct the candidate.";
    case Fault::task:
      return "Correct the reference or its inputs, and judge again. The verdict is not held against the "
             "candidate.";
    case Fault::infrastructure:
      return "Run the same command again; `kernelwright doctor` checks the machine. The verdict is not held "
             "against the candidate.";
  }
  return {};
}

std::string_view advice_of(Trust trust) {
  switch (trust) {
    case Trust::replay:
      return "Nothing: this is the strongest evidence.";
    case Trust::in_process:
      return "Read `replay.why_not`: it names what keeps the candidate from being replayed. --min-trust "
             "in-process uses such times anyway.";
    case Trust::interpreter:
      return "Judge it on a GPU for times, and for faults that only a device shows.";
  }
  return {};
}

std::string_view advice_of(Shapes shapes) {
  switch (shapes) {
    case Shapes::given:
      return "Nothing.";
    case Shapes::reduced:
      return "Judge it on a GPU, or with --shapes given, before you rely on a right result; a finding lists "
             "the sizes.";
  }
  return {};
}

std::string_view advice_of(IsolationLevel level) {
  switch (level) {
    case IsolationLevel::full:
      return "Nothing.";
    case IsolationLevel::partial:
      return "`kernelwright doctor` names the layers that this host refuses, and what to change.";
    case IsolationLevel::process:
      return "Leave --allow-unsandboxed out for code that you do not trust; `kernelwright doctor` names what "
             "this host lacks.";
  }
  return {};
}

Words words_of(Sanitizer check) {
  switch (check) {
    case Sanitizer::bounds:
      return {
          "A check of a right result: no kernel reads beyond the end of an input or a weight.",
          "Mask the access that the error names: no lane may access memory past the end, even if its value "
          "is unused."};
    case Sanitizer::memcheck:
      return {
          "A check of a right result by compute-sanitizer: no kernel accesses memory beyond its shared or "
          "local memory, or at a misaligned address.",
          "Correct the access that the error names. Where the check was not run, the verdict says why."};
    case Sanitizer::racecheck:
      return {
          "A check of a right result by compute-sanitizer: no two threads of a block access the same shared "
          "memory without a barrier between them.",
          "Put a barrier between the two accesses. Where the check was not run, the verdict says why."};
  }
  return {};
}

Words words_of(Flag flag) {
  switch (flag) {
    case Flag::correctness:
      return {
          "True: the result is right in all trials. False: it is wrong, or the candidate broke. Null: the "
          "candidate was not judged.",
          "Look at `counts` as well: this flag compares numbers only."};
    case Flag::counts:
      return {
          "True: the right result is evidence for the kernel. False: it is none. Null: the result is not "
          "right.",
          "Where it is false, `counts_reason` names the reason: `kernelwright explain` with that word."};
    case Flag::fast_0:
      return {"True: the result is right. It equals `correctness`.",
              "See `status` and `error_class` where it is false."};
    case Flag::fast_1:
      return {"True: right, and faster than the reference. Null: right, but not timed.",
              "Where it is null, `timing.why_null` names the reason; times need a GPU."};
    case Flag::fast_2:
      return {"True: right, and at least twice as fast as the reference. Null: right, but not timed.",
              "Where it is null, `timing.why_null` names the reason; times need a GPU."};
  }
  return {};
}

std::string in_short(Status status, std::optional<bool> counts, std::string_view why) {
  std::string words(to_string(status));
  if (status == Status::correct && counts == false) words += ", does not count";
  if (!why.empty()) words += fmt::format(" ({})", why);
  return words;
}

}  // namespace kw::explain
