#include "models/table.h"

namespace kw::models {

const std::vector<ModelServer>& model_servers() {
  static const std::vector<ModelServer> servers{
      {.name = "glm-4.5-air",
       .title = "GLM-4.5-Air",
       .script = "run_glm45_air.sh",
       .checkpoints = {{"", "zai-org/GLM-4.5-Air", "glm45", 65536}},
       .tensor_parallel = 4,
       .dtype = "bfloat16",
       .precision = "BF16",
       .weights_gib = 206,
       .reasoning =
           "always, unless a request turns it off: --chat-template-kwargs '{\"enable_thinking\": false}'",
       .note = "No tool parser: the loop calls no tools."},
      {.name = "gpt-oss-120b",
       .title = "GPT-OSS-120B",
       .script = "run_gpt_oss.sh",
       .checkpoints = {{"", "openai/gpt-oss-120b", "", 131072}},
       .tensor_parallel = 2,
       .precision = "MXFP4",
       .weights_gib = 61,
       .reasoning = "always; how much is a request's affair: --reasoning-effort low|medium|high",
       .note = "No reasoning parser is named: vLLM takes openai_gptoss by itself."},
      {.name = "qwen3-235b",
       .title = "Qwen3-235B-A22B",
       .script = "serve_qwen3_235b.sh",
       .checkpoints = {{"", "Qwen/Qwen3-235B-A22B-Instruct-2507-FP8", "", 65536},
                       {"--thinking", "Qwen/Qwen3-235B-A22B-Thinking-2507-FP8", "qwen3", 131072}},
       .tensor_parallel = 4,
       .data_parallel = 2,
       .expert_parallel = true,
       .precision = "FP8",
       .weights_gib = 221,
       .reasoning = "none by default (Instruct); --thinking serves the checkpoint that reasons",
       .note =
           "An expert is 1536 wide in FP8 blocks of 128: a quarter is 3 blocks, an eighth is 1.5, so tensor\n"
           "parallel 8 fails. Hence two replicas at tensor parallel 4 behind one port. Replicas of one "
           "server\n"
           "cut experts by all 8 GPUs too, unless expert parallelism spreads them whole: 16 of 128 a GPU."},
  };
  return servers;
}

const ModelServer* find_model(std::string_view name) {
  for (const ModelServer& server : model_servers())
    if (server.name == name) return &server;
  return nullptr;
}

std::vector<std::string> serve_words(const ModelServer& server, const Checkpoint& checkpoint) {
  std::vector<std::string> words{checkpoint.repository, "--tensor-parallel-size",
                                 std::to_string(server.tensor_parallel)};
  auto add = [&](std::string flag, std::string value) {
    words.push_back(std::move(flag));
    words.push_back(std::move(value));
  };
  if (server.data_parallel > 1) add("--data-parallel-size", std::to_string(server.data_parallel));
  if (server.expert_parallel) words.emplace_back("--enable-expert-parallel");
  if (!server.dtype.empty()) add("--dtype", server.dtype);
  if (!checkpoint.reasoning_parser.empty()) add("--reasoning-parser", checkpoint.reasoning_parser);
  add("--max-model-len", std::to_string(checkpoint.max_model_len));
  // vLLM's own default is every address of the machine, without a key.
  add("--host", "127.0.0.1");
  add("--port", "8000");
  return words;
}

}  // namespace kw::models
