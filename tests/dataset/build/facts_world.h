// BuildSummary of a small build, and rows for them.
#pragma once

#include "dataset/build/build_summary.h"

namespace kw::dataset {

inline corpus::Row hole_row() {
  corpus::Row row;
  row.id = "0123456789abcdef0123456789abcdef01234567";
  row.unit = "aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbcccccccc";
  row.prompt = "def add(x):\n";
  row.completion = "  return x + é";
  row.source.origin.kind = corpus::OriginKind::wheel;
  row.source.origin.name = "kernels";
  row.source.origin.version = "1.2";
  row.source.path = "kernels/add.py";
  row.licence = {"Apache-2.0", "LICENSE"};
  row.hole = corpus::Hole{"body", "plain", {0, 26}, {12, 26}};
  row.labels.compile = corpus::CompileLabel::compilable;
  row.labels.masked_loads = true;
  row.tokens = 12;
  return row;
}

inline BuildSummary small_facts() {
  BuildSummary facts;
  facts.program = "1.0";
  facts.made_by = "dataset build kernels-1.2.whl";
  facts.tokenizer = "a BPE of 300 entries, trained on this corpus";
  SourceFacts source;
  source.origin = hole_row().source.origin;
  source.origin.sha256 = std::string(64, 'e');
  source.tally = {.files_seen = 12'345,
                  .files_taken = 7,
                  .bytes_seen = 9'000,
                  .bytes_taken = 800,
                  .skipped = {{"too large", 2}}};
  source.units = {{"triton", 6}, {"cuda_kernel", 2}};
  source.licence_refused = {{"GPL-3.0-only", 1}, {"unknown", 3}};
  add(source, {"Apache-2.0", "SPDX tag, line 1"});
  add(source, {"Apache-2.0", "SPDX tag, line 7"});
  add(source, {"Apache-2.0", "LICENSE"});
  facts.sources.push_back(source);
  facts.stages = {{"parse", 2.0, 5'000'000, 7}, {"labels", 1.5, 0, 4}};
  facts.units = source.units;
  facts.duplicates = {
      .exact_units = 1, .renamed_units = 1, .near_units = 2, .clusters = 1, .largest_cluster = 3};
  add(facts.rows, hole_row());
  facts.parameters = {{"threshold", 0.8}, {"bands", 21}};
  return facts;
}

}  // namespace kw::dataset
