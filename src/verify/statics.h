#pragma once

#include "schema/job.h"
#include "schema/verdict.h"

namespace kw::verify {

// What the syntax tree alone decides: a forbidden import, or no entry to call. True where the verdict stands.
bool examine_statically(Verdict& verdict, const Job& job);

}  // namespace kw::verify
