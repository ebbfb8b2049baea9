// The model servers that we know how to start: the one place with their names, sizes and flags.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kw::models {

// What the flags below were checked against, and what is installed where there is no vLLM.
inline constexpr std::string_view checked_vllm = "0.33.0";
// Older ones lack a parser or an architecture of the table.
inline constexpr std::string_view oldest_vllm = "0.11.0";

// One checkpoint that a script can serve.
struct Checkpoint {
  std::string option;  // of the script; empty: the one served without it
  std::string repository;
  std::string reasoning_parser;  // empty: no reasoning, or vLLM's own default
  unsigned max_model_len = 0;    // tokens
};

struct ModelServer {
  std::string name;
  std::string title;
  std::string script;  // in scripts/
  std::vector<Checkpoint> checkpoints;
  unsigned tensor_parallel = 1;
  unsigned data_parallel = 1;    // replicas behind one port
  bool expert_parallel = false;  // experts are spread whole, not in slices
  std::string dtype{};           // empty: the checkpoint's own
  std::string precision;         // in words
  unsigned weights_gib = 0;
  std::string reasoning;  // in words
  std::string note;       // why it is started so, in lines of a comment

  unsigned gpus() const { return tensor_parallel * data_parallel; }
};

const std::vector<ModelServer>& model_servers();

// Null where there is none of that name.
const ModelServer* find_model(std::string_view name);

// The words after `vllm serve`.
std::vector<std::string> serve_words(const ModelServer& server, const Checkpoint& checkpoint);

}  // namespace kw::models
