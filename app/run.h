// `kernelwright run`: tasks → model → verdict → feedback → traces.
#pragma once

#include <CLI/CLI.hpp>

#include "options/input_flags.h"
#include "options/model_flags.h"
#include "options/shared_flags.h"
#include "types/options.h"

namespace kw::app {

// `kernelwright run`: tasks → model → verdict → feedback → traces.
struct RunFlags {
  SourceFlags source;
  ModelFlags model;
  LoopFlags loop;
  Settings settings;
  EvaluatorFlags evaluator;
  RunOutputFlags output;

  void add(CLI::App& app);
};

// `verb` is the parsed verb; the run stores its resolved options. The exit status: 0 if every task had its
// conversation, 1 if the run ended early or a task could not be read, 130 after Ctrl-C.
int run(const RunFlags& flags, const CLI::App& verb);

// The same with tasks that another verb chose; flags.source then only describes their origin. The caller has
// called own_processes.
int run_tasks(const RunFlags& flags, const CLI::App& verb, SourcePtr source);

}  // namespace kw::app
