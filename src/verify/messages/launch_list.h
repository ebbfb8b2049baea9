// Lists of recorded launches in a message: a packet holds at most 64 KiB, and a call may launch one kernel
// very often.
#pragma once

#include <memory>
#include <vector>

#include "messages_generated.h"

namespace kw::wire {

using LaunchList = std::vector<std::unique_ptr<LaunchT>>;

// Leaves out of each launch what the first launch of the same kernel, grid and block states already
// (`same_as`).
void shorten(LaunchList& launches);
// Fills in what was left out. False: a launch refers to none before it.
bool complete(LaunchList& launches);

}  // namespace kw::wire
