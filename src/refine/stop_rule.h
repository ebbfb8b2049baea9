// When does a conversation end? A table, tested in this order: success, then what makes another turn
// pointless, then the cap.
#pragma once

#include <optional>

#include "refine/settings.h"
#include "schema/trace.h"

namespace kw::refine {

// How many turns a conversation may have.
std::size_t turn_cap(const Settings& settings);

// After the last turn was judged; nothing: go on with feedback. A turn without a verdict goes on to be
// judged.
std::optional<StopReason> stop_reason_after(const Conversation& conversation, const Settings& settings);

// Whether the task gets a second conversation, afresh: the first one came to its end, and nothing in it was
// correct and counting.
bool deserves_retry(const Trace& trace, const Settings& settings);

// Correct, and cannot count whatever the candidate does: the task proves nothing, or its reference is random.
bool can_never_count(const Verdict& verdict);

// Skipped, but with a finding that a model can use: it was wrong at reduced shapes.
bool is_wrong_at_reduced_shapes(const Verdict& verdict);

}  // namespace kw::refine
