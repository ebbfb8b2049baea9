// Writes conversations as trajectories of Harbor's Agent Trajectory Interchange Format, ATIF-v1.8.
#pragma once

#include <boost/json/object.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "loop/exports/inspect_log.h"
#include "loop/run_store/run_reader.h"

namespace kw::exports {

struct AtifOptions {
  std::string session_id;  // of the run; empty: none
  std::string program_version;
};

// A trajectory for each round of the trace that has a step: the prompt, then answers with their verdicts as
// observations, and the feedback as the user's messages.
std::vector<boost::json::object> trajectories_of(const Trace& trace, const AtifOptions& options);

// One trajectory a line; one JSON list for the extension .json. Writes nothing if there is none.
Result<Exported> write_atif(store::TraceReader& reader, const std::filesystem::path& path,
                            const std::string& program_version);

// Whether write_atif() wrote this file, by its beginning.
bool is_atif(const std::filesystem::path& path);

}  // namespace kw::exports
