// Which model is asked, and how.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "llm/openai_client.h"

namespace kw {

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

  // With the key of OPENAI_API_KEY.
  llm::ServerOptions server_options() const;
};

// A JSON object as text.
Result<boost::json::object> parse_json_object(const std::string& text);

}  // namespace kw
