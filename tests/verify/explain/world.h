// A small candidate, and verdicts on it.
#pragma once

#include <string>

#include "verify/explain/explanation.h"

namespace kw::explain {

inline const std::string code =
    "import torch\n"
    "import triton\n"
    "import triton.language as tl\n"
    "\n"
    "\n"
    "@triton.jit\n"
    "def double(p, n):\n"
    "    x = tl.load(p)\n"
    "    tl.store(p, x * 2)\n"
    "\n"
    "\n"
    "def triton_kernel_wrapper(x):\n"
    "    double[(1,)](x, 4)\n"
    "    return x";

inline Verdict verdict(Status status, Stage stage) {
  Verdict verdict;
  verdict.id = "relu";
  verdict.status = status;
  verdict.stage = stage;
  verdict.fault = Fault::kernel;
  verdict.trust = Trust::interpreter;
  return verdict;
}

inline Verdict failed(ErrorClass error_class, Stage stage, const std::string& error, std::int64_t line = 0) {
  Verdict failed = verdict(Status::failed, stage);
  failed.error_class = error_class;
  failed.error = error;
  if (line > 0) {
    failed.error_detail.emplace();
    failed.error_detail->file = "kernel.py";
    failed.error_detail->line = line;
  }
  return failed;
}

inline Verdict incorrect(ErrorClass error_class, const std::string& error) {
  Verdict incorrect = failed(error_class, Stage::judge, error);
  incorrect.status = Status::incorrect;
  incorrect.comparison.emplace();
  return incorrect;
}

inline Verdict does_not_count(CountsReason reason) {
  Verdict right = verdict(Status::correct, Stage::done);
  right.fault.reset();
  right.counts = false;
  right.counts_reason = reason;
  return right;
}

inline std::string shown(const Verdict& verdict, const std::string& source = code) {
  return to_terminal(explain(verdict, {.candidate = source}), {});
}

}  // namespace kw::explain
