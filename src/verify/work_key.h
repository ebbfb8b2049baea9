// The key of a piece of work: jobs with equal keys may share a verdict.
#pragma once

#include <string>
#include <string_view>

#include "schema/job.h"

namespace kw::verify {

class Verifier;

// 64 hex digits over all that a verdict is about: the codes of reference and candidate, the entries of both,
// the input shapes in their order, and the protocol. Names take no part: not the task's, not the kernel's.
std::string work_key(const Job& job, std::string_view protocol);

// Under the protocol that the verifier has for the job's options.
std::string work_key(const Job& job, const Verifier& verifier);

}  // namespace kw::verify
