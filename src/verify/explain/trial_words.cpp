// The words of varied inputs, other shapes, sanitizers, empty answers and conversations.
#include <array>

#include "verify/explain/words.h"

namespace kw::explain {

Words words_of(ShapeGenerality shapes) {
  switch (shapes) {
    case ShapeGenerality::any:
      return {"It is right at every other shape at which it was tried.", "Nothing."};
    case ShapeGenerality::given_only:
      return {"It is right at the shapes of its task, and wrong at another one.",
              "Take sizes and strides from the arguments, and mask the last block. With --varied-shapes "
              "require such a result does not count."};
    case ShapeGenerality::unknown:
      return {"It could be tried at no other shape.", "`generality.shape_trials` has the reasons."};
  }
  return {};
}

Words words_of(FamilyOutcome outcome) {
  switch (outcome) {
    case FamilyOutcome::held:
      return {"It is right on these inputs, or at these shapes, too.", "Nothing."};
    case FamilyOutcome::failed:
      return {"It is wrong, broken or without an answer on two draws of these inputs, or at these shapes.",
              "Compute what the reference computes, also for inputs and shapes unlike the task's own; `why` "
              "has the first error."};
    case FamilyOutcome::dropped:
      return {"The reference itself has no sound answer on these inputs, or at these shapes.",
              "Nothing: it is not held against the candidate; `why` has the reason."};
    case FamilyOutcome::untried:
      return {"Nothing was learnt on these inputs, or at these shapes.",
              "Nothing: it is not held against the candidate; `why` has the reason."};
  }
  return {};
}

Words words_of(SanitizerOutcome outcome) {
  switch (outcome) {
    case SanitizerOutcome::clean:
      return {"The check of --sanitize ran, and found nothing.", "Nothing."};
    case SanitizerOutcome::found:
      return {"The check of --sanitize found a fault.", "`findings` has the kernel and the place."};
    case SanitizerOutcome::not_run:
      return {"The check of --sanitize could not run, so that it proves nothing.",
              "`why_not` has the reason: most checks need a GPU, and some NVIDIA's compute-sanitizer."};
  }
  return {};
}

Words words_of(StopReason reason) {
  switch (reason) {
    case StopReason::success_fast:
      return {"A turn was correct, counts, and reached the target speed-up.", "Nothing."};
    case StopReason::success_correct:
      return {"A turn was correct and counts; its speed-up was unknown or below the target.",
              "Nothing; --require-speed always goes on for speed."};
    case StopReason::max_turns_reached:
      return {"The conversation reached its last turn.", "--max-turns gives it more."};
    case StopReason::context_overflow:
      return {"The conversation no longer fitted into the model's context.",
              "Serve the model with a longer context, or take fewer turns."};
    case StopReason::generation_failed:
      return {"The model server gave no answer.", "`error` has the server's message."};
    case StopReason::refused:
      return {"The model or its server refused to answer.", "`error` has the server's message."};
    case StopReason::task_invalid:
      return {"The reference itself is broken.", "Correct the task; `kernelwright certify` examines it."};
    case StopReason::verifier_unavailable:
      return {"There was no verdict, through no fault of the candidate.",
              "Run the same command again; `kernelwright doctor` checks the machine."};
  }
  return {};
}

namespace {

constexpr std::string_view compare_there =
    "A kernel that is wrong there is right on its task's own inputs alone: compare it with the reference on "
    "such inputs.";
constexpr std::string_view reported = "Nothing: an error there is reported only.";
constexpr std::string_view other_sizes =
    "Take sizes and strides from the arguments, and mask the last block.";
constexpr std::string_view empty = "Give the task inputs for which this answer is wrong.";
constexpr std::string_view incomplete =
    "Judge with --tolerance strict, or give the task larger outputs; --inputs varied tries other inputs.";

constexpr std::array families{
    NamedWords{"given", {"Inputs as the task draws them.", "Nothing."}},
    NamedWords{"mostly_high",
               {"Most integers, or most places of a mask, have the greatest value.", compare_there}},
    NamedWords{"shifted_4", {"Numbers are shifted by 4 standard deviations.", compare_there}},
    NamedWords{"lowered_4",
               {"Numbers are shifted by -4 standard deviations: most are below zero.",
                "Start maxima at -inf, and pad with what leaves the result unchanged."}},
    NamedWords{"mostly_low",
               {"Most integers, or most places of a mask, have the least value.", compare_there}},
    NamedWords{"rare_branch",
               {"Numbers are scaled until the reference takes a branch that it does not take otherwise.",
                "Implement every branch of the reference, also those that only large numbers take."}},
    NamedWords{"region", {"One contiguous eighth of the numbers is scaled by 8.", compare_there}},
    NamedWords{"scaled_60", {"Numbers are scaled by 60.", compare_there}},
    NamedWords{"some_rows",
               {"Half of the rows are scaled by 8; some may be zero or near it.", compare_there}},
    NamedWords{"spiked", {"One number in 4,096 is scaled by 60.", compare_there}},
    NamedWords{"sparse", {"95% of the numbers are zero.", compare_there}},
    NamedWords{"heavy_tailed", {"Numbers have heavy tails.", compare_there}},
    NamedWords{"scaled_8", {"Numbers are scaled by 8.", compare_there}},
    NamedWords{"sorted_rows", {"The numbers of each row are sorted.", compare_there}},
    NamedWords{"reduced_16", {"Numbers are divided by 16.", compare_there}},
    NamedWords{"shifted_apart",
               {"Tensors are shifted by 4 standard deviations, to either side.", compare_there}},
    NamedWords{"far_below",
               {"Numbers lie 128 standard deviations away; the result must be finite.",
                "Subtract the maximum before exp(), and start a running maximum at -inf."}},
    NamedWords{"negated", {"Numbers are negated.", compare_there}},
    NamedWords{"constant_rows", {"All numbers of a row are equal.", reported}},
    NamedWords{"in_order", {"Integers, or the places of a mask, are in order.", compare_there}},
    NamedWords{"shifted_8", {"Numbers are shifted by 8 standard deviations.", reported}},
    NamedWords{"on_steps", {"Numbers are rounded, so that some lie exactly at a bound.", reported}},
    NamedWords{"never_varied", {"An input that no draw changes has other values.", reported}},
    NamedWords{"prime", {"Each size is a prime number, which no block divides.", other_sizes}},
    NamedWords{"larger", {"The innermost size is larger than a block.", other_sizes}},
    NamedWords{"more_rows", {"Sizes other than the innermost one are larger.", other_sizes}},
    NamedWords{"one", {"Each size is 1.", other_sizes}},
    NamedWords{"empty", {"One size is 0.", reported}},
};

constexpr std::array answers{
    NamedWords{"zeros", {"An empty answer: every output is zero.", empty}},
    NamedWords{"constant", {"An empty answer: every output is its mean.", empty}},
    NamedWords{"echo", {"An empty answer: an input is returned.", empty}},
    NamedWords{"stale", {"An empty answer: the outputs of the call before are returned.", empty}},
    NamedWords{"affine", {"An incomplete computation: a line of one input.", incomplete}},
    NamedWords{"bfloat16",
               {"An incomplete computation: float32 inputs are rounded to bfloat16.", incomplete}},
    NamedWords{"half", {"An incomplete computation: half of every input is not read.", incomplete}},
};

}  // namespace

std::span<const NamedWords> words_of_families() {
  return families;
}

std::span<const NamedWords> words_of_answers() {
  return answers;
}

}  // namespace kw::explain
