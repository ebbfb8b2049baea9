// A verdict for a client that named its task by id: without text that the reference's own code made.
#pragma once

#include "types/verdict.h"

namespace kw::service {

// Removes the messages of the reference's process (errors, tracebacks, output, findings that quote them) and
// leaves the facts: status, fault, class, stage, comparison and times. True if something was removed; such a
// verdict must not be shared with a client that sent the reference itself.
bool hide_reference(Verdict& verdict);

}  // namespace kw::service
