// CUDA C++ of a candidate that the broker built again.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "types/verdict.h"
#include "verify/workers/candidate_workers.h"

namespace kw::verify {

// The keys of all code in these cubins, as a replayer makes them of what was launched. An image that is no
// cubin has none.
std::set<std::uint64_t> code_keys(const std::vector<std::string>& cubins);

// A finding: why a launch of unknown origin is not proven to be native code of the candidate's own. Empty
// where there is no such launch, or no sign of native code. `builds`: the candidate built native code,
// according to its source and its process.
std::string about_builds(const std::vector<Launch>& launches, const engine::Attestation& found, bool builds);

}  // namespace kw::verify
