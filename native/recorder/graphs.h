// CUDA graphs: what is in one is read when it is instantiated, and written down when it is launched.
#pragma once

#include "machine.h"

namespace kw::recorder {

void graph_instantiated(CUgraph graph, CUgraphExec executable);
// Destroyed, or changed so that what we know of it is no longer true.
void graph_forgotten(CUgraphExec executable);

}  // namespace kw::recorder
