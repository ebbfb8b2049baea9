// Findings of `doctor`, and the examination of a model server for `doctor --vllm-url` and `--launch`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/core/words.h"
#include "loop/model_client/listing.h"
#include "loop/model_client/openai_client.h"

namespace kw::app {

// Findings of `doctor`. busy: a server that limits requests at the moment could not be examined to the end.
BOOST_DEFINE_ENUM_CLASS(Grade, ok, less, busy, missing)

struct Finding {
  Grade grade = Grade::ok;
  std::string what;
  std::string remedy;
};

using Findings = std::vector<Finding>;

// Requests the server's models and one short answer. Takes two minutes at most.
Findings examine_server(const llm::ServerOptions& options);

// `text`: a command line that starts vLLM, a script with such a line, or the path of a file with either.
Findings examine_launch_line(const std::string& line_or_file);

// The checks that need no server. `listing` is the server's list of models, `model` the chosen model.
Findings judge_context(const llm::ModelInfo& model);
// `body` is a complete chat completion.
Findings judge_answer(const llm::ModelInfo& model, std::string_view body);

}  // namespace kw::app
