// What the supervisor is told of a recording that can be replayed.
#pragma once

#include "slot.h"

namespace kw::replayer {

wire::ReplayableT replayable(const Slot& slot);

// As a packet: of very many launches only the first, as many as fit.
std::string fitting(wire::ReplayableT reply);

}  // namespace kw::replayer
