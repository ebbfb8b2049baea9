// The results of a KernelBench run, eval_results.json: {problem_id: [{sample_id, compiled, correctness,
// metadata, runtime, runtime_stats}]}. Reads them as verdicts of another evaluator, and writes them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/rows/row_reader.h"
#include "types/verdict.h"

namespace kw {

struct KernelBenchResult {
  int level = 0;
  int problem_id = 0;
  int sample_id = 0;
  Verdict verdict;
};

// Places a verdict: the numbers of "kernelbench/LEVEL/PROBLEM_ID" and of the sample; empty for other tasks.
std::optional<KernelBenchResult> kernelbench_place(std::string_view task_id, std::size_t sample_number);

// Writes eval_results.json into the run folder, or eval_results_level_L.json if the run has several levels.
// Keeps samples in the file that are not among the results. An existing file of another form is renamed to
// NAME.1, or to the next free number: returns the new names.
Result<std::vector<std::filesystem::path>> write_kernelbench_results(
    const std::string& run_folder, const std::vector<KernelBenchResult>& results);

// Whether the candidate reached its run: KernelBench's "compiled".
bool compiled(const Verdict& verdict);

// Verdicts that another evaluator gave. Whether they count, their trust and their protocol are unknown: those
// fields are empty, and Verdict::further has "recorded_by".
struct KernelBenchVerdicts {
  std::vector<Verdict> verdicts;  // by problem and sample
  std::vector<RowError> bad_rows;
};

inline constexpr const char* recorded_by_kernelbench =
    "recorded by KernelBench's evaluator: whether these results count, and the trust in their times, are "
    "unknown";

// Empty for a file of another form. The level is in the name of the file, or in those of the kernels beside
// it; if it is in neither, the tasks are kernelbench/?/PROBLEM_ID.
Result<std::optional<KernelBenchVerdicts>> read_kernelbench_results(const std::filesystem::path& path);

}  // namespace kw
