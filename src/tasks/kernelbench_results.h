// eval_results.json as KernelBench writes it: {problem_id: [{sample_id, compiled, correctness, metadata,
// runtime, runtime_stats}]}.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "schema/verdict.h"

namespace kw {

struct KernelBenchResult {
  int level = 0;
  int problem_id = 0;
  int sample_id = 0;
  Verdict verdict;
};

// Into the run folder: eval_results.json, or eval_results_level_L.json where the run has several levels.
// Samples in the file that are not among the results stay.
Result<> write_kernelbench_results(const std::string& run_folder,
                                   const std::vector<KernelBenchResult>& results);

// Whether the candidate got as far as running: KernelBench's "compiled".
bool compiled(const Verdict& verdict);

}  // namespace kw
