// `kernelwright dataset`: build, dedup, audit, export.
#pragma once

#include "flags/dataset_flags.h"

namespace kw::app {

struct DatasetFlags {
  DatasetBuildFlags build;
  DatasetDedupFlags dedup;
  DatasetAuditFlags audit;
  DatasetExportFlags export_rows;

  // The verbs below `dataset`.
  void add(CLI::App& app);
};

// The exit status: 0, 1 where something failed (or, with --fail-on-leak, leaked), 2, 130 after Ctrl-C.
int dataset(const DatasetFlags& flags, const CLI::App& verb);

}  // namespace kw::app
