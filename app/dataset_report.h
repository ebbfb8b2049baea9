// What the verbs of `dataset` say at their end.
#pragma once

#include <filesystem>

#include "dataset/audit.h"
#include "dataset/build.h"
#include "dataset/dedup.h"

namespace kw::app {

void report(const dataset::Facts& facts, const std::filesystem::path& out);
void report(const dataset::DedupTally& tally, const dataset::DedupSettings& settings);
void report(const dataset::AuditTally& tally, const dataset::AuditSettings& settings);

}  // namespace kw::app
