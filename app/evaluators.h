// Evaluation services that were deployed from here, by the names that --evaluator takes:
// $XDG_CONFIG_HOME/kernelwright/evaluators.json.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"

namespace kw::app {

struct KnownEvaluator {
  std::string url;
  std::string made_at;  // ISO 8601, UTC
};

// In XDG_CONFIG_HOME, else in ~/.config; an error where the environment names neither.
Result<std::filesystem::path> evaluators_file();

// Nothing where none of that name was kept. A file that cannot be read is an error.
Result<std::optional<KnownEvaluator>> find_evaluator(const std::filesystem::path& file,
                                                     const std::string& name);

// Keeps it in the place of an earlier one of that name; others, and fields that are not ours, stay. Makes the
// folder.
Result<> keep_evaluator(const std::filesystem::path& file, const std::string& name, const std::string& url);

}  // namespace kw::app
