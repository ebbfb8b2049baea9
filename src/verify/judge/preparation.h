// Prepares a task on a GPU, with the shares of the device whose memory it needs.
#pragma once

#include <cstdint>

#include "verify/judge/blame.h"
#include "verify/judge/context.h"
#include "verify/judge/oracle_side.h"

namespace kw::verify {

// Inputs, weights and outputs of a task that needs more than one share.
inline constexpr std::uint64_t heavy_bytes = std::uint64_t{1} << 30;

// `device` holds a share, and afterwards those that the task needs. A large task retires its oracle. While it
// waits for shares it holds no memory, or several that wait would fill the device. Its inputs tell before it
// is prepared; its outputs, or a lack of memory, afterwards.
async::Task<Outcome<>> prepare_on_gpu(const Case& of, OracleSide& oracle, DeviceShare& device);

}  // namespace kw::verify
