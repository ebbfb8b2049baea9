// Flags of `export`, which makes training files.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "loop/run_store/training_rows.h"
#include "types/enums.h"

namespace kw {

// Flags of `export`: source, rows and output.
struct ExportFlags {
  std::string run;
  std::string output;
  store::Format format = store::Format::messages;
  std::optional<store::Unit> rows;  // none: turn
  store::ReasoningKey reasoning = store::ReasoningKey::reasoning_content;
  std::optional<store::Filter> filter;  // none: correct, and Filter::none for traces
  std::optional<Trust> min_trust;       // none: any
  std::optional<store::Form> form;      // of traces; none: single if no trace has a second turn
  bool unmeasured_is_zero = false;      // else null
  bool best_only = false;
  bool include_benchmarks = false;
  std::optional<std::uint64_t> max_bytes;
  std::string python;
  bool quiet = false;

  void add(CLI::App& app);
};

}  // namespace kw
