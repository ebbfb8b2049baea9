// What `doctor --vllm-url` and `--launch` find out about a model's server.
#pragma once

#include <string>
#include <string_view>

#include "findings.h"
#include "llm/listing.h"
#include "llm/openai_client.h"

namespace kw::app {

// Asks the server for its models and for one short answer. Takes two minutes at most.
Findings examine_server(const llm::ServerOptions& options);

// A command line that starts vLLM, or a script with one: text, or the path of a file with it.
Findings examine_launch_line(const std::string& line_or_file);

// The parts that need no server. `listing` is what it lists, `model` what was settled on.
Findings judge_context(const llm::ModelInfo& model);
// `body` is a whole chat completion.
Findings judge_answer(const llm::ModelInfo& model, std::string_view body);

}  // namespace kw::app
