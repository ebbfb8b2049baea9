// Findings of verdicts on a candidate in kernels/relu.py of the working directory /work.
#pragma once

#include <string>

#include "verify/explain/finding.h"
#include "world.h"

namespace kw::explain {

inline const Origins in_a_file{{"kernels/relu.py", 1, false}, {"kernels/reference.py", 1, false}};

inline const Verdict out_of_bounds =
    failed(ErrorClass::out_of_bounds, Stage::run, "out-of-bounds load in double", 8);

inline Finding found(const Verdict& verdict, const std::string& source = code,
                     const Origins& origins = in_a_file) {
  return finding_of(verdict, {.candidate = source, .reference = source}, origins, {}, "/work");
}

inline constexpr std::size_t most_for_tests = 25'000;

inline Findings all(const std::vector<Finding>& list) {
  Findings findings(most_for_tests);
  for (const Finding& each : list) findings.add(each);
  return findings;
}

}  // namespace kw::explain
