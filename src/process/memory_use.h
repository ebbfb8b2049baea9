// How much memory a process and its descendants hold.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace kw::process {

// Resident anonymous and shared bytes of the whole tree; 0 where it is gone. Shared pages count once a
// process.
std::uint64_t tree_memory_bytes(pid_t root);

}  // namespace kw::process
