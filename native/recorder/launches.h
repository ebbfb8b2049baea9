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
  std::string obstacle;  // the reason why no replay can repeat the launch; empty if it can
};

// Copies everything that the call's pointers refer to.
Launch described(const LaunchCall& call);

// Records the launch for a stream, and every obstacle to its replay.
void write(CUstream stream, Launch launch);

// Records the current values of the variables in the kernel's module at its first use by the call.
void look_at_globals(const Kernel& kernel);

}  // namespace kw::recorder
