// The sources of verdicts, found in the input that was judged by the SHA-256 of the candidate.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/core/result.h"

namespace kw::app {

struct JudgedSource {
  std::string candidate;
  std::string reference;
};
using JudgedSources = std::map<std::string, JudgedSource>;  // by the candidate's SHA-256

// `input`: REFERENCE KERNEL, or one file or folder, as `verify` reads it; empty: no sources. Keeps those
// whose hash is wanted.
Result<JudgedSources> read_judged_sources(const std::vector<std::string>& input,
                                          const std::function<bool(const std::string& sha256)>& wanted);

}  // namespace kw::app
