// Explanation: what a person or a model is told of a verdict, in parts. Renderers choose and order them, and
// bound them. Texts stand here as the verdict and the candidate have them: renderers make them harmless.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explain/excerpt.h"
#include "explain/words.h"
#include "schema/verdict.h"

namespace kw::explain {

// How bad it is, in the words of SARIF. `none`: right, and it counts.
enum class Level { none, note, warning, error };

struct Mismatch {
  std::optional<FirstMismatch> first;
  // Over all trials:
  std::optional<double> wrong_share;
  std::optional<double> max_abs_error;
  std::optional<double> max_rel_error;
};

// What the source itself suggests.
struct Hint {
  std::string text;
  std::size_t line = 0;  // 0: none, or the text names it
  std::optional<Excerpt> excerpt;
};

struct Explanation {
  std::string id;
  Status status = Status::error;
  std::optional<bool> counts;
  Level level = Level::none;
  std::string rule;  // the error class or the reason why it does not count; empty: neither
  Words words;
  std::string error;                   // the verdict's own sentence, or empty
  std::string compiler_text;           // or empty
  bool compiler_says_error = false;    // the error stands in the compiler's text
  bool compiler_points_there = false;  // the excerpt's span is where the compiler's caret stands
  std::string file;                    // "kernel.py" is the candidate, "reference.py" the reference
  std::size_t line = 0;                // of that file; 0: not known
  std::optional<Excerpt> excerpt;
  std::optional<Mismatch> mismatch;  // what the error does not say already, of a wrong result
  std::vector<std::string> findings;
  std::vector<Hint> hints;
  std::string circumstances;  // the stage, what judged it, and whose fault it is if not the kernel's
};

// What a verdict may point into; empty where it is not at hand.
struct Sources {
  std::string_view candidate = {};
  std::string_view reference = {};
};

Explanation explain(const Verdict& verdict, const Sources& sources);

Level level_of(Status status, std::optional<bool> counts);

// "First at output[0, 1]: expected 1.5, got 2.5" and "Over all trials: ...", each a line of its own, where
// there is something to say.
std::string in_words(const Mismatch& mismatch);

}  // namespace kw::explain
