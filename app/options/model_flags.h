// Flags of the model, its server and its sampling, and of a conversation: turns, stop conditions, prompts.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "base/core/result.h"
#include "loop/model_client/openai_client.h"
#include "loop/refine/settings.h"

namespace kw {

// Flags of the model, its server and its sampling.
struct ModelFlags {
  std::string url = "http://localhost:8000/v1";
  std::string model;   // empty: the only one that the server lists
  std::string replay;  // recorded traces, played by a scripted model; empty: a real server
  std::optional<double> replay_delay_s;
  llm::Sampling sampling;
  std::uint64_t batch_size = 10;  // requests in flight
  double request_timeout_s = 1800;
  bool stream = true;

  void add(CLI::App& app);

  // Includes the key from OPENAI_API_KEY.
  llm::ServerOptions server_options() const;
};

// Parses a JSON object.
Result<boost::json::object> parse_json_object(const std::string& text);

// Flags of a conversation: turns, stop conditions, prompts.
struct LoopFlags {
  bool multi_turn = false;
  std::uint64_t max_turns = 4;
  double target_speedup = 1.0;
  refine::RequireSpeed require_speed = refine::RequireSpeed::auto_;
  bool retry_failed = true;
  std::uint64_t samples_per_task = 1;
  refine::PromptStyle style = refine::PromptStyle::wrapper;
  std::string system_prompt;  // a file; empty: the built-in one

  void add(CLI::App& app);

  // Reads the file of the system prompt. Where gradients are judged, the prompt asks for them.
  Result<refine::Settings> settings(bool gradients) const;
};

}  // namespace kw
