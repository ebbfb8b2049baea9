// `kernelwright explain`: the meaning of a word of a verdict, or the explanations of stored verdicts.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "options/verdict_table_flags.h"

namespace kw::app {

struct ExplainFlags {
  std::string subject;           // a word, a file of verdicts, or empty
  std::vector<std::string> ids;  // only these verdicts of the file
  std::vector<std::string> input;
  VerdictTableFlags table;

  void add(CLI::App& app);
};

// Prints to standard output. The exit status: 2 for an unknown word or flags that do not apply, 1 for a file
// that is unreadable, holds other rows than verdicts, or lacks one of the ids.
int explain(const ExplainFlags& flags);

}  // namespace kw::app
