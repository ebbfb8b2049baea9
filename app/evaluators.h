// Evaluation services deployed from this machine: their addresses by their names for --evaluator, stored in
// $XDG_CONFIG_HOME/kernelwright/evaluators.json, and their keys, which come from the environment, never from
// the command line, and are never printed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/core/result.h"
#include "base/http/message.h"

namespace kw::app {

// Addresses of evaluation services deployed from this machine, by their names for --evaluator. Stored in
// $XDG_CONFIG_HOME/kernelwright/evaluators.json.
struct KnownEvaluator {
  std::string url;
  std::string made_at;  // ISO 8601, UTC
};

// In XDG_CONFIG_HOME, else in ~/.config; an error if neither XDG_CONFIG_HOME nor HOME is set.
Result<std::filesystem::path> evaluators_file();

// Empty if no service of that name is stored. An unreadable file is an error.
Result<std::optional<KnownEvaluator>> find_evaluator(const std::filesystem::path& file,
                                                     const std::string& name);

// Stores the address and replaces an earlier one of that name. Keeps other entries and unknown fields.
// Creates the folder.
Result<> keep_evaluator(const std::filesystem::path& file, const std::string& name, const std::string& url);

// Keys for evaluators. They come from the environment, never from the command line, and are never printed.
struct EvaluatorKeys {
  http::Headers headers;
  std::string advice;  // the remedy if the evaluator accepts none of them
};

// `where` is the value of --evaluator, `url` its address. Only Modal's proxy gets keys for Modal.
EvaluatorKeys evaluator_keys(const std::string& where, const std::string& url);

}  // namespace kw::app
