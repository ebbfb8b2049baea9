// CPU time of a process tree as the kernel counts it: the time that it ran, and the time that its threads
// waited for a CPU.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <vector>

namespace kw::process {

struct ThreadWait {
  double waited_ms = 0;    // it could run, and every CPU that it may use was taken; a sleep is no such wait
  std::uint64_t cpus = 1;  // that it may use
};

struct CpuUse {
  double ran_ms = 0;                    // of all processes, and of ended ones that a process waited for
  std::map<pid_t, ThreadWait> threads;  // that live
};

// The root and its descendants, also those that threads forked; empty if the root has ended. `proc` is
// another folder in tests only.
std::vector<pid_t> tree_of(pid_t root, const std::filesystem::path& proc = "/proc");

// Of the tree; zeros if it has ended.
CpuUse cpu_use(pid_t root, const std::filesystem::path& proc = "/proc");

// Whether other processes kept the tree from the CPU in this time: a thread waited for at least half of it,
// and all that the tree ran is less than half of what the CPUs of that thread offered. A tree whose own
// threads take the CPU from one another runs more than that, and one that sleeps does not wait.
bool is_starved(const CpuUse& before, const CpuUse& after, double elapsed_ms);

}  // namespace kw::process
