// The closed sets of words a verdict uses. Their spelling is the contract's; a trailing underscore only
// keeps a word from being one of C++'s.
#pragma once

#include <optional>
#include <string_view>

namespace kw {

enum class Status { correct, incorrect, failed, skipped, error };

enum class Stage { parse, static_, prepare, import_, compile, run, record, replay, judge, time, done };

enum class Fault { kernel, task, infrastructure };

enum class ErrorClass {
  syntax_error,
  missing_entry,
  forbidden,
  import_error,
  compile_error,
  out_of_resources,
  runtime_error,
  illegal_memory_access,
  out_of_bounds,
  timeout,
  out_of_memory,
  process_died,
  wrong_structure,
  wrong_shape,
  wrong_dtype,
  wrong_value,
  nonfinite,
  input_modified,
  nondeterministic,
  live_replay_mismatch,
  task_invalid,
  unsupported_candidate,
  too_large,
  infrastructure
};

enum class CountsReason { proves_nothing, library_only, decoy, nondeterministic };

enum class Shapes { given, reduced };

enum class Trust { replay, in_process, interpreter };

enum class IsolationLevel { full, partial, process };

std::string_view to_string(Status value);
std::string_view to_string(Stage value);
std::string_view to_string(Fault value);
std::string_view to_string(ErrorClass value);
std::string_view to_string(CountsReason value);
std::string_view to_string(Shapes value);
std::string_view to_string(Trust value);
std::string_view to_string(IsolationLevel value);

// The value of that name, or nothing: from_string<Status>("correct").
template <typename Enum>
std::optional<Enum> from_string(std::string_view name);

}  // namespace kw
