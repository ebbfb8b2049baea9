// Compiles in a process of ours what a runner's Triton lowered, and says which machine code comes out: a
// launch of just that code is attested to be Triton's.
#pragma once

#include <set>
#include <string>

#include "engine/fork_server.h"

namespace kw::engine {

// SHA-256 of the cubins, in hexadecimal. `kernels` is the file that came with a recording; whatever is wrong
// with it attests nothing.
async::Task<std::set<std::string>> attested(std::shared_ptr<ForkServer> server, Limits limits, int kernels,
                                            std::uint32_t capability, async::Deadline deadline);

}  // namespace kw::engine
