// Who judges: this machine, or a service.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/result.h"

namespace kw {

struct EvaluatorFlags {
  std::string where = "local";  // "local", the name of a deployment, or a URL
  double patience_s = 300;      // with a service that does not answer

  // --evaluator is read from KERNELWRIGHT_EVALUATOR too.
  void add(CLI::App& app);
  bool is_remote() const { return where != "local"; }

  // What only an engine on this machine can heed is an error where a service judges. `verb` is the parsed
  // verb.
  Result<> check(const CLI::App& verb) const;
};

// "local", "modal", "ray", or a URL of http or https.
Result<std::string> parse_evaluator(const std::string& text);

}  // namespace kw
