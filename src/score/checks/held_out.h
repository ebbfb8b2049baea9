// Tasks and rows of an evaluation in an adapter's training data, by its training_manifest.json.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/core/result.h"

namespace kw::score {

inline constexpr std::string_view training_schema = "kernelwright.training/1";

struct TrainingManifest {
  std::string program;
  std::string base_model;
  std::size_t rows = 0;
  std::size_t rows_without_task = 0;          // can only be recognised by their text
  std::unordered_set<std::string> task_keys;  // of the tasks; of a row without a task, of its id
  std::unordered_set<std::string> problems;   // of the KernelBench tasks among them the keys without level
  std::unordered_set<std::string> row_ids;
  std::unordered_set<std::string> sha256;
};

// An error for a file that is not a manifest, has another schema, or is damaged: an incompletely read
// manifest must not count as one without entries.
Result<TrainingManifest> read_manifest(const std::filesystem::path& path);
Result<TrainingManifest> manifest_from_json(std::string_view text, std::string_view name = "the manifest");

// The hashes of a manifest: SHA-256 of prompt, NUL and completion; of the messages' canonical JSON without
// nulls; or of the text.
std::string row_sha256(std::string_view prompt, std::string_view completion);
std::string messages_sha256(const boost::json::value& messages);
std::string text_sha256(std::string_view text);

// A task or a row of an evaluation; missing values are empty.
struct EvaluatedItem {
  std::string task_id;
  std::string row_id;
  std::set<std::string> sha256;  // of every form that it could have been trained in

  // False without ids and hashes: a missing match then proves nothing.
  bool is_comparable() const { return !task_id.empty() || !row_id.empty() || !sha256.empty(); }

  auto operator<=>(const EvaluatedItem&) const = default;
};

struct Seen {
  std::size_t item = 0;  // its number
  std::string by;        // "task_id", "row_id", "sha256": the first of these that matches
  std::string what;      // the value
};

// Compares tasks without blanks at their ends and without case, with `/` equal to `_`; a KernelBench task
// without a level (kernelbench_19, kernelbench/?/19) matches that problem of any level. A row's id may be a
// task's name.
std::vector<Seen> seen_in_training(const TrainingManifest& manifest, const std::vector<EvaluatedItem>& items);

}  // namespace kw::score
