#include "verify/explain/words.h"

namespace kw::explain {

Words words_of(TaskMark mark) {
  switch (mark) {
    case TaskMark::refused:
      return {"The reference cannot be loaded or called, so that no candidate gets a verdict.",
              "Repair the reference: `error` has its message."};
    case TaskMark::proves_nothing:
      return {
          "An empty answer passes: zeros, a constant, an input returned, or the outputs of the call before.",
          "Give the task inputs for which these answers are wrong; `verify` counts no result of it."};
    case TaskMark::empty_output:
      return {"An empty answer passes for one of several outputs.",
              "Give that output values of the size of the tolerance or larger, or remove it."};
    case TaskMark::weak:
      return {"An incomplete computation passes the tolerance, although it misses by far.",
              "Judge with --tolerance strict, or give the task larger outputs."};
    case TaskMark::ignores_input:
      return {"The outputs stay within the tolerance when an input is replaced by another draw of it.",
              "Give that input an effect, or remove it."};
    case TaskMark::nonfinite:
      return {"An output has NaN or infinities on the task's own inputs.",
              "Draw inputs for which the function is finite."};
    case TaskMark::random:
      return {"The reference draws random numbers, so that results cannot be compared.",
              "Remove the random numbers, or call .eval() on the module."};
    case TaskMark::unseeded:
      return {"get_inputs() draws from a generator that no seed reaches, so that trials cannot be repeated.",
              "Draw the inputs with torch, numpy or random."};
    case TaskMark::ill_conditioned:
      return {
          "Rounding decides an output: its error against float64, or its change under one ulp of the "
          "inputs, is large beside its values.",
          "Rescale the inputs or rewrite the reference; an honest kernel may be judged wrong."};
    case TaskMark::constant_input:
      return {
          "An input has the same values under every seed, so that a kernel may look its part of the "
          "result up.",
          "Draw the input at random, or make it a weight."};
    case TaskMark::fixed_shapes:
      return {"The reference computes no other size, so that a kernel cannot be tried at other shapes.",
              "Assign the sizes of the inputs to names at the top level, and use them in get_inputs()."};
  }
  return {};
}

}  // namespace kw::explain
