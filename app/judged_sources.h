// The sources of verdicts and their files, found in the input that was judged by the SHA-256 of the
// candidate.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/core/result.h"
#include "types/job.h"

namespace kw::app {

struct JudgedSource {
  std::string candidate;
  std::string reference;
  Origin candidate_origin = {};
  Origin reference_origin = {};
};
// By the candidate's SHA-256, and the id of its job: several files may have equal candidates.
using JudgedSources = std::map<std::pair<std::string, std::string>, JudgedSource>;

// The candidate with this hash and id, else any with this hash; null if there is none.
const JudgedSource* find_source(const JudgedSources& sources, const std::string& sha256,
                                const std::string& id = {});

// `input`: REFERENCE KERNEL, or one file or folder, as `verify` reads it; empty: no sources. Keeps those
// whose hash is wanted.
Result<JudgedSources> read_judged_sources(const std::vector<std::string>& input,
                                          const std::function<bool(const std::string& sha256)>& wanted);

}  // namespace kw::app
