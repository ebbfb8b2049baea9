// Explanation: the parts of a verdict's explanation for a person or a model, and its text for a terminal or
// a plain text file. Texts in an Explanation are unescaped: renderers escape, choose, order and limit them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/display.h"
#include "types/verdict.h"
#include "verify/explain/excerpt.h"
#include "verify/explain/words.h"

namespace kw::explain {

// The severity, by SARIF's names. `none`: correct and counting.
enum class Level { none, note, warning, error };

struct Mismatch {
  std::optional<FirstMismatch> first;
  // Over all trials:
  std::optional<double> wrong_share;
  std::optional<double> max_abs_error;
  std::optional<double> max_rel_error;
};

// Hints from the source.
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
  bool compiler_says_error = false;    // the compiler's text contains the error
  bool compiler_points_there = false;  // the excerpt's span is that of the compiler's caret
  std::string file;                    // "kernel.py" is the candidate, "reference.py" the reference
  std::size_t line = 0;                // of that file; 0: not known
  std::optional<Excerpt> excerpt;
  std::optional<Mismatch> mismatch;  // of a wrong result: the numbers that the error lacks
  std::vector<std::string> findings;
  std::vector<Hint> hints;
  std::vector<std::string> causes;  // why a right result does not count; escaped
  std::string printed;              // the end of the output of the candidate's process, or empty
  std::string circumstances;  // the stage, the method of judging, and the fault if it is not the kernel's
};

// The source that a verdict may point into; empty if it is not available.
struct Sources {
  std::string_view candidate = {};
  std::string_view reference = {};
};

Explanation explain(const Verdict& verdict, const Sources& sources);

// "It is right on the task's own inputs, and wrong on these: x: scaled by 60 (38% of the values differ)." of
// the first failure that is held against the result; empty: there is none. It quotes no values.
std::string specialised_in_words(const Verdict& verdict);

// "right at other shapes too; sanitized: bounds clean": what --varied-shapes and --sanitize found; empty
// where neither was asked for.
std::string further_checks_in_words(const Verdict& verdict);

Level level_of(Status status, std::optional<bool> counts);

// "First at output[0, 1]: expected 1.5, got 2.5" and "Over all trials: ...", one line each, if the data
// exist. Leaves out errors of 0: no values were compared, or all compared values are equal.
std::string in_words(const Mismatch& mismatch);

// Renders an Explanation for a terminal or a plain text file.
Colour colour_of(Level level);

// The verdict in short, the event, the error, the source with a caret, numbers, findings, advice, and the
// method of judging. Lines are at most `style.width` cells wide, except for longer words. Text of the
// candidate is escaped and cut, so that it cannot control the terminal.
std::string to_terminal(const Explanation& explanation, const Style& style);

}  // namespace kw::explain
