// `kernelwright verify`: candidates in, verdicts out.
#pragma once

#include <CLI/CLI.hpp>

#include "flags/correctness_flags.h"
#include "flags/engine_flags.h"
#include "flags/evaluator_flags.h"
#include "flags/input_flags.h"
#include "flags/output_flags.h"
#include "flags/timing_flags.h"

namespace kw::app {

struct VerifyFlags {
  InputFlags input;
  EngineFlags engine;
  EvaluatorFlags evaluator;
  CorrectnessFlags correctness;
  TimingFlags timing;
  OutputFlags output;

  void add(CLI::App& app);
};

// `verb` is the parsed verb. The exit status: 0 where every candidate got its verdict, 1 where one got none,
// 130 after Ctrl-C.
int verify(const VerifyFlags& flags, const CLI::App& verb);

}  // namespace kw::app
