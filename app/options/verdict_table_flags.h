// Flags of the output of verdicts: its form, and for the table on a terminal, which verdicts are shown and
// with which parts.
#pragma once

#include <CLI/CLI.hpp>

#include "base/core/result.h"
#include "base/core/words.h"
#include "verify/explain/selection.h"

namespace kw {

BOOST_DEFINE_ENUM_CLASS(VerdictForm, table, sarif, github)

struct VerdictTableFlags {
  VerdictForm format = VerdictForm::table;
  explain::Selection only;
  bool show_output = false;

  // Refuses flags that print no table, where the app has them.
  void add(CLI::App& app);
  // Refuses flags of the table with another form.
  Result<> check() const;
};

}  // namespace kw
