#include "verify/explain/words.h"

#include <fmt/format.h>

namespace kw::explain {
namespace {

constexpr std::string_view form_is_wrong =
    "It runs, but its result does not have the form of the reference's result.";

}  // namespace

// Without a default, a new class does not compile until it has its sentences.
Words words_of(ErrorClass error_class) {
  switch (error_class) {
    case ErrorClass::syntax_error:
      return {"The module is not valid Python.", ""};
    case ErrorClass::missing_entry:
      return {"There was nothing to call.", ""};
    case ErrorClass::forbidden:
      return {"The module was refused, and not run.", "Leave this out: a kernel does not need it."};
    case ErrorClass::import_error:
      return {"The module could not be imported.",
              "Only PyTorch, Triton, the standard library and a few other packages are available."};
    case ErrorClass::compile_error:
      return {"A kernel does not compile.", ""};
    case ErrorClass::out_of_resources:
      return {"A kernel needs more of the device than there is.",
              "Smaller blocks, fewer stages (num_stages) or another number of warps need less."};
    case ErrorClass::runtime_error:
      return {"The call raised an error.", ""};
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
      return {"The process in which it ran ended before there was a result.", ""};
    case ErrorClass::wrong_structure:
    case ErrorClass::wrong_shape:
    case ErrorClass::wrong_dtype:
      return {form_is_wrong, ""};
    case ErrorClass::wrong_value:
      return {"It runs, but the values are wrong.", ""};
    case ErrorClass::nonfinite:
      return {
          "It runs, but NaN or infinity occur at wrong positions, or are missing.",
          "Look at masked lanes (other=), divisions by zero, and exponents without the maximum subtracted."};
    case ErrorClass::input_modified:
      return {"It changed one of its inputs, which the reference leaves alone.", "Write into a new tensor."};
    case ErrorClass::nondeterministic:
      return {"Its result differs between equal calls.", "", did_not_work};
    case ErrorClass::live_replay_mismatch:
      return {"Its result needs work on a stream that the caller's stream never waits for.",
              "Launch on the current stream, or make it wait for the other one (wait_stream) before the call "
              "returns.",
              did_not_work};
    case ErrorClass::task_invalid:
      return {"The task itself does not work: its reference or its inputs fail.",
              "Correct the reference or its inputs; the message says what is wrong with them.", did_not_work};
    case ErrorClass::unsupported_candidate:
      return {"It could not be run on this machine, so it was not judged.", ""};
    case ErrorClass::too_large:
      return {"It was too large to be tried in full.", ""};
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

std::string in_short(Status status, std::optional<bool> counts, std::string_view why) {
  std::string words(to_string(status));
  if (status == Status::correct && counts == false) words += ", does not count";
  if (!why.empty()) words += fmt::format(" ({})", why);
  return words;
}

}  // namespace kw::explain
