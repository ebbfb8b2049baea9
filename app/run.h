// `kernelwright run`: tasks → model → verdict → feedback → traces.
#pragma once

#include <CLI/CLI.hpp>

#include "flags/evaluator_flags.h"
#include "flags/loop_flags.h"
#include "flags/model_flags.h"
#include "flags/run_output_flags.h"
#include "flags/source_flags.h"
#include "schema/settings.h"

namespace kw::app {

struct RunFlags {
  SourceFlags source;
  ModelFlags model;
  LoopFlags loop;
  Settings settings;
  EvaluatorFlags evaluator;
  RunOutputFlags output;

  void add(CLI::App& app);
};

// `verb` is the parsed verb: what it resolved to is kept with the run. The exit status: 0 where every task
// had its conversation, 1 where the run broke off or a task could not be read, 130 after Ctrl-C.
int run(const RunFlags& flags, const CLI::App& verb);

// The same with the tasks of another verb's choice; flags.source then only says where they are from. The
// caller has called own_processes.
int run_tasks(const RunFlags& flags, const CLI::App& verb, std::unique_ptr<TaskSource> source);

}  // namespace kw::app
