// A replayer under a tool: compute-sanitizer starts it as a program, so it cannot be a fork of the server.
// The process here runs beside both, in the same sandbox. It passes packets on to the replayer, and the
// tool's report to the supervisor.
#pragma once

#include <string>
#include <vector>

namespace kw::replayer {

// `words`: the tool with its first words, then the replayer's program. Returns the exit status.
int serve_under_tool(int control, const std::vector<std::string>& words, int device);

// The main function of the replayer that the tool starts: answers the requests of the socket at this path.
int serve_traced(const std::string& path, int device);

}  // namespace kw::replayer
