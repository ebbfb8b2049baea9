// `kernelwright verify`: candidates in, verdicts out.
#pragma once

#include <CLI/CLI.hpp>

#include "flags/evaluator_flags.h"
#include "flags/input_flags.h"
#include "flags/output_flags.h"
#include "schema/settings.h"

namespace kw::app {

struct VerifyFlags {
  InputFlags input;
  Settings settings;
  EvaluatorFlags evaluator;
  OutputFlags output;

  void add(CLI::App& app);
};

// `verb` is the parsed verb. The exit status: 0 where every candidate got its verdict, 1 where one got none,
// 130 after Ctrl-C.
int verify(const VerifyFlags& flags, const CLI::App& verb);

}  // namespace kw::app
