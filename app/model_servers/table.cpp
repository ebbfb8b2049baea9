#include "model_servers/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

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
       .architecture = "MoE",
       .parameters_b = 106,
       .active_b = 12,
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
       .architecture = "MoE",
       .parameters_b = 117,
       .active_b = 5.1,
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
       .architecture = "MoE",
       .parameters_b = 235,
       .active_b = 22,
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
  // By default vLLM listens on every address of the machine, without a key.
  add("--host", "127.0.0.1");
  add("--port", "8000");
  return words;
}

namespace {

// Joins without quotes, which the plain words of the table do not need.
std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

// "model=... flags=(...)" for a checkpoint, with the separator between the two assignments.
std::string assignments(const ModelServer& server, const Checkpoint& checkpoint, std::string_view separator) {
  std::vector<std::string> words = serve_words(server, checkpoint);
  words.erase(words.begin());
  return fmt::format("model={}{}flags=({})", checkpoint.repository, separator, joined(words));
}

std::string commented(std::string_view text) {
  std::string lines = "# ";
  for (char c : text) lines += c == '\n' ? std::string("\n# ") : std::string(1, c);
  return lines;
}

std::string option_cases(const ModelServer& server) {
  std::string cases;
  for (const Checkpoint& checkpoint : server.checkpoints)
    if (!checkpoint.option.empty())
      cases += fmt::format("    {}) {} ;;\n", checkpoint.option, assignments(server, checkpoint, " "));
  return cases;
}

std::string option_words(const ModelServer& server) {
  std::string words;
  for (const Checkpoint& checkpoint : server.checkpoints)
    if (!checkpoint.option.empty())
      words += fmt::format("  {:<12} serve {}\n", checkpoint.option, checkpoint.repository);
  return words;
}

void replace_all(std::string& text, std::string_view name, std::string_view value) {
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + value.size()))
    text.replace(at, name.size(), value);
}

}  // namespace

std::string serve_line(const ModelServer& server, const Checkpoint& checkpoint) {
  return "vllm serve " + joined(serve_words(server, checkpoint));
}

std::string server_script(const ModelServer& server) {
  const Checkpoint& first = server.checkpoints.front();
  const std::pair<std::string_view, std::string> values[] = {
      {"@NAME@", server.name},
      {"@TITLE@", server.title},
      {"@SCRIPT@", server.script},
      {"@PRECISION@", server.precision},
      {"@GPUS@", std::to_string(server.gpus())},
      {"@NOTE@", commented(server.note)},
      {"@MODEL@", assignments(server, first, "\n")},
      {"@REPOSITORY@", first.repository},
      {"@TENSOR@", std::to_string(server.tensor_parallel)},
      {"@DATA@", std::to_string(server.data_parallel)},
      {"@WEIGHTS_GIB@", std::to_string(server.weights_gib)},
      {"@OLDEST_VLLM@", std::string(oldest_vllm)},
      {"@CHECKED_VLLM@", std::string(checked_vllm)},
      {"@OPTION_CASES@\n", option_cases(server)},
      {"@OPTION_WORDS@\n", option_words(server)},
  };
  std::string text(server_template());
  for (const auto& [name, value] : values) replace_all(text, name, value);
  return text;
}

}  // namespace kw::models
