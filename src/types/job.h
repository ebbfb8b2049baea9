// Job: one candidate, source code that replaces the reference, to be judged on one task, a PyTorch reference
// with its inputs; and the verdict on another job under this job's names.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "types/options.h"
#include "types/verdict.h"

namespace kw {

// The file that contains a source, for messages about the source. It is no part of the work.
struct Origin {
  std::string path;      // as given, or below the given folder; empty: standard input, a service
  std::size_t line = 0;  // of the file, from 1, at which the source begins; 0: unknown
  bool in_row = false;   // the whole source is in this one line, a row of JSON lines
};

// Source code that replaces a task's reference.
struct Candidate {
  std::string code;
  std::string kernel_name;  // the source's name for it; may be empty
  std::string entry;        // class or function to call; empty: recognised
  Origin origin = {};
};

// The hash of the source's bytes as given.
std::string candidate_sha256(std::string_view code);

// A PyTorch reference, its input generator and its initial arguments.
struct Task {
  std::string task_id;
  std::string source;      // "kernelbench", "kernelbook", "sample", "pair", "batch", ...
  std::string level;       // empty if the source states none
  std::string problem_id;  // of KernelBench; empty elsewhere
  std::string sample_key;  // the source's name for the sample; empty: made of source and id. May repeat
  std::string name;
  std::string reference_code;
  std::string entry_point;   // class or function of the reference; empty: recognised
  std::string input_shapes;  // JSON text of a function pair, else empty
  std::string licence;
  std::string repo;
  Origin origin = {};  // of the reference
};

// "kernelbench/LEVEL/PROBLEM_ID"; an empty level is written "?".
std::string kernelbench_task_id(std::string_view level, std::string_view problem_id);

// "kernelbook/UUID", or the row's number if there is no UUID.
std::string kernelbook_task_id(std::string_view uuid_or_row);

std::string sample_task_id(std::string_view name);

// "sha256:" and 16 digits of reference bytes, a NUL, and the input spec as canonical JSON (nothing if empty);
// if an entry point was named, a NUL and its name follow, since one source may contain several tasks.
std::string hashed_task_id(std::string_view reference_code, std::string_view input_shapes,
                           std::string_view entry_point = {});

// Validates input shapes, as text or as JSON: {"x": {"shape": [4, 8], "dtype": "float32"}}.
Result<> check_input_shapes(std::string_view text);
Result<> check_input_shapes(const boost::json::value& value);

// A recorded verdict of an earlier evaluator on the candidate.
struct RecordedResult {
  bool correctness = false;
  std::optional<double> speedup;
  std::string error;
};

// One candidate to be judged on one task, with its row's name and additional fields.
struct Job {
  std::string id;
  std::size_t position = 0;       // among the jobs of a run, in the order of its input
  std::size_t sample_number = 0;  // occurrence of the task in its source, from 0
  Task task;
  Candidate candidate;
  JobOptions options;
  boost::json::object carried;  // the row's additional fields
  std::optional<RecordedResult> recorded;
};

// Replaces id, task, sample number and kernel name by those of the job (empty if the job has none).
void restamp(Verdict& verdict, const Job& job);

// A verdict with a fault of the infrastructure, for a job that was not judged.
Verdict no_verdict(const Job& job, std::string why);

}  // namespace kw
