// The table of known model servers, and their launch scripts. No other file has their names, sizes and flags.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kw::models {

// The vLLM version that the flags were checked against, and that scripts install.
inline constexpr std::string_view checked_vllm = "0.33.0";
// Older versions lack a parser or an architecture of the table.
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
  bool expert_parallel = false;  // each GPU has complete experts instead of slices
  std::string dtype{};           // empty: the checkpoint's own
  std::string precision;         // in words
  std::string architecture;      // "MoE", "dense"
  double parameters_b = 0;       // 10^9, as the model's card states them
  double active_b = 0;           // 10^9, for each token
  unsigned weights_gib = 0;
  std::string reasoning;  // in words
  std::string note;       // the reason for the flags, as lines of a comment

  unsigned gpus() const { return tensor_parallel * data_parallel; }
};

const std::vector<ModelServer>& model_servers();

// Null if the table has no such name.
const ModelServer* find_model(std::string_view name);

// The words after `vllm serve`.
std::vector<std::string> serve_words(const ModelServer& server, const Checkpoint& checkpoint);

// A bash script that checks the machine, installs vLLM where there is none, and serves the model.
std::string server_script(const ModelServer& server);

// The template's text with each @NAME@ replaced by the model's value.
std::string_view server_template();

// "vllm serve MODEL --flag value ..."
std::string serve_line(const ModelServer& server, const Checkpoint& checkpoint);

}  // namespace kw::models
