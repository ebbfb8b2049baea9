// What is said of an answer without running it: its syntax tree, and its likeness to a reference.
#pragma once

#include <span>

#include "scoring/output.h"

namespace kw::scoring {

// Fills idioms and overlap of each output that is scored. Rows cut from the middle of a function ("fim") have
// no syntax tree of their own, and get no idioms.
void measure(std::span<Output> outputs);

// Of each conversation, which turn stands for it: the best one (right before wrong before unknown, then the
// faster, then the later).
void choose_turns(std::span<Output> outputs);

}  // namespace kw::scoring
