// Where the outputs of a replayed call are put in the arena, so that the oracle finds them there.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "wire/message.h"

namespace kw::verify {

// What a judge is told, and what a replayer is told: the same outputs, once by place and once by device
// address.
struct OutputPlaces {
  wire::ValueT outputs;
  std::vector<wire::OutputSpan> spans;
};

// `outputs` has device addresses as offsets and the bytes that are reached, as a runner describes them. The
// error says why they cannot be handed over: an output that lies on the host, or more bytes than there is
// room for.
Result<OutputPlaces> place_outputs(wire::ValueT outputs, const wire::CallSpecT& spec);

}  // namespace kw::verify
