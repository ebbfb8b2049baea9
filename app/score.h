// `kernelwright score`: outputs, or what a model answers, into figures that a person can trust.
#pragma once

#include <CLI/CLI.hpp>

#include "flags/evaluator_flags.h"
#include "flags/score_flags.h"
#include "schema/settings.h"

namespace kw::app {

struct ScoreOptions {
  ScoreFlags flags;
  Settings settings;
  EvaluatorFlags evaluator;

  void add(CLI::App& app);
};

// `verb` is the parsed verb. The exit status: 0 where the result was written, 1 where something was trained
// on and is refused, where a source cannot be read or nothing could be judged, 130 after Ctrl-C.
int score(const ScoreOptions& options, const CLI::App& verb);

}  // namespace kw::app
