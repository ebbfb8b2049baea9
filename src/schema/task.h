// Task: a PyTorch reference, its input generator and its initial arguments.
#pragma once

#include <string>
#include <string_view>

namespace kw {

struct Task {
  std::string task_id;
  std::string source;      // "kernelbench", "kernelbook", "sample", "pair", "batch", ...
  std::string level;       // empty where the source does not say
  std::string problem_id;  // of KernelBench; empty elsewhere
  std::string sample_key;  // as the source calls it; empty: made of source and id. May repeat
  std::string name;
  std::string reference_code;
  std::string entry_point;   // class or function of the reference; empty: recognised
  std::string input_shapes;  // JSON text of a function pair, else empty
  std::string licence;
  std::string repo;
};

// "kernelbench/LEVEL/PROBLEM_ID"; an empty level is written "?".
std::string kernelbench_task_id(std::string_view level, std::string_view problem_id);

// "kernelbook/UUID", or the row's number where there is no UUID.
std::string kernelbook_task_id(std::string_view uuid_or_row);

std::string sample_task_id(std::string_view name);

// "sha256:" and 16 digits of reference bytes, a NUL, and the input spec as canonical JSON (nothing if empty);
// where an entry point was named, a NUL and its name follow, since one source may hold several tasks.
std::string hashed_task_id(std::string_view reference_code, std::string_view input_shapes,
                           std::string_view entry_point = {});

}  // namespace kw
