// `kernelwright score`: computes metrics of outputs or of a model's answers.
#pragma once

#include <CLI/CLI.hpp>

#include "options/score_flags.h"
#include "options/shared_flags.h"
#include "types/options.h"

namespace kw::app {

struct ScoreOptions {
  ScoreFlags flags;
  Settings settings;
  EvaluatorFlags evaluator;

  void add(CLI::App& app);
};

// `verb` is the parsed verb. The exit status: 0 if the result was written; 1 if tasks are refused because
// they are in the training data, if a source cannot be read, or if no answer could be judged; 130 after
// Ctrl-C.
int score(const ScoreOptions& options, const CLI::App& verb);

}  // namespace kw::app
