// Flags of the table of verdicts on a terminal: which are shown, and with which parts.
#pragma once

#include <CLI/CLI.hpp>

#include "verify/explain/selection.h"

namespace kw {

struct VerdictTableFlags {
  explain::Selection only;
  bool show_output = false;

  // Refuses flags that print no table, where the app has them.
  void add(CLI::App& app);
};

}  // namespace kw
