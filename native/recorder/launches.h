// Launches, from the driver's calls and from nodes of graphs.
#pragma once

#include <vector>

#include "modules.h"
#include "recording_generated.h"

namespace kw::recorder {

struct LaunchCall {
  CUfunction function = nullptr;
  recording::Dim grid;
  recording::Dim block;
  unsigned shared_bytes = 0;
  CUstream stream = nullptr;
  void** parameters = nullptr;
  void** extra = nullptr;
  std::vector<CUlaunchAttribute> attributes;
  const char* symbol = nullptr;
};

struct Launch {
  recording::LaunchT launch;
  Kernel kernel;
  std::string obstacle;  // of a launch that no replay can repeat; empty where there is none
};

// Reads everything that the pointers in the call point to.
Launch described(const LaunchCall& call);

// Writes it down for a stream, and what in it cannot be replayed.
void write(CUstream stream, Launch launch);

// The variables of the kernel's module, as they are now, if the call has not used the module before.
void look_at_globals(const Kernel& kernel);

}  // namespace kw::recorder
