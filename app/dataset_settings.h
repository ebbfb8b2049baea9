// Flags of `dataset` into settings.
#pragma once

#include "dataset/audit.h"
#include "dataset/build.h"
#include "dataset/dedup.h"
#include "dataset/export.h"
#include "dataset_host.h"
#include "flags/dataset_flags.h"

namespace kw::app {

Result<dataset::BuildSettings> build_settings(const DatasetBuildFlags& flags, const DatasetHost& host);
dataset::DedupSettings dedup_settings(const DatasetDedupFlags& flags, const DatasetHost& host,
                                      const std::filesystem::path& scratch);
dataset::AuditSettings audit_settings(const DatasetAuditFlags& flags, const DatasetHost& host,
                                      const std::filesystem::path& scratch);
dataset::ExportSettings export_settings(const DatasetExportFlags& flags, const DatasetHost& host,
                                        const std::filesystem::path& scratch);

}  // namespace kw::app
