// Flags of `export`, which makes training files and files for other programs.
#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/core/words.h"
#include "loop/run_store/training_rows.h"
#include "options/harbor_flags.h"
#include "options/review_flags.h"
#include "types/enums.h"

namespace kw {

// The first four are rows: store::Format. The others are files of other programs: logs of inspect_ai,
// trajectories in Harbor's ATIF, run folders of KernelBench, and tasks for Harbor, which are made of tasks
// instead of a run.
BOOST_DEFINE_ENUM_CLASS(ExportFormat, messages, prompt_completion, preference, traces, inspect, atif,
                        kernelbench, harbor)

template <>
inline constexpr auto other_words<ExportFormat> =
    std::array{EnumWord<ExportFormat>{ExportFormat::prompt_completion, "prompt-completion"}};

// The format of rows; empty for files of other programs.
std::optional<store::Format> row_format(ExportFormat format);

// Flags of `export`: source, rows and output.
struct ExportFlags {
  std::string run;  // of harbor: a source of tasks
  std::string output;
  ExportFormat format = ExportFormat::messages;
  std::optional<store::Unit> rows;               // none: turn
  std::optional<store::ReasoningKey> reasoning;  // none: reasoning_content
  std::optional<store::Filter> filter;           // none: correct, and Filter::none for traces
  std::optional<Trust> min_trust;                // none: any
  std::optional<store::Form> form;               // of traces; none: single if no trace has a second turn
  bool unmeasured_is_zero = false;               // else null
  bool best_only = false;
  bool include_benchmarks = false;
  std::optional<std::uint64_t> max_bytes;
  ReviewFlags review;
  HarborFlags harbor;
  std::string python;
  bool quiet = false;

  void add(CLI::App& app);
};

}  // namespace kw
