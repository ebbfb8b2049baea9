// CUDA graphs: their nodes are read when a graph is instantiated, and recorded when it is launched.
#pragma once

#include "machine.h"

namespace kw::recorder {

void graph_instantiated(CUgraph graph, CUgraphExec executable);
// The executable graph was destroyed or changed, so the nodes read earlier are no longer valid.
void graph_forgotten(CUgraphExec executable);

}  // namespace kw::recorder
