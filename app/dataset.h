// `kernelwright dataset`: discover, build, synth, dedup, audit, export, and the final reports of these verbs.
#pragma once

#include <filesystem>

#include "dataset/build/audit.h"
#include "dataset/build/build.h"
#include "dataset/build/dedup.h"
#include "options/dataset_flags.h"

namespace kw::app {

// `kernelwright dataset`: discover, build, synth, dedup, audit, export.
struct DatasetFlags {
  DatasetDiscoverFlags discover;
  DatasetBuildFlags build;
  DatasetDedupFlags dedup;
  DatasetAuditFlags audit;
  DatasetExportFlags export_rows;
  DatasetSynthFlags synth;

  // The verbs below `dataset`.
  void add(CLI::App& app);
};

// The exit status: 0 for success, 1 for a failure (or, with --fail-on-leak, a leak), 2 for wrong flags, 130
// after Ctrl-C.
int dataset(const DatasetFlags& flags, const CLI::App& verb);

// Final reports of the verbs of `dataset`.
void report(const dataset::BuildSummary& facts, const std::filesystem::path& out);
void report(const dataset::DedupTally& tally, const dataset::DedupSettings& settings);
void report(const dataset::AuditTally& tally, const dataset::AuditSettings& settings);

}  // namespace kw::app
