// Launch scripts for model servers.
#pragma once

#include <string>
#include <string_view>

#include "models/table.h"

namespace kw::models {

// A bash script that checks the machine, installs vLLM where there is none, and serves the model.
std::string server_script(const ModelServer& server);

// Its text with @NAMES@ in place of what differs from model to model.
std::string_view server_template();

// "vllm serve MODEL --flag value ..."
std::string serve_line(const ModelServer& server, const Checkpoint& checkpoint);

}  // namespace kw::models
