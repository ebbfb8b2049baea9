// Which tasks and rows of an evaluation an adapter was trained on, by its training_manifest.json.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/result.h"

namespace kw::score {

inline constexpr std::string_view training_schema = "kernelwright.training/1";

struct TrainingManifest {
  std::string program;
  std::string base_model;
  std::size_t rows = 0;
  std::size_t rows_without_task = 0;          // of which only the text can be recognised
  std::unordered_set<std::string> task_keys;  // of the tasks; of a row without a task, of its id
  std::unordered_set<std::string> problems;   // of the KernelBench tasks among them the keys without level
  std::unordered_set<std::string> row_ids;
  std::unordered_set<std::string> sha256;
};

// Error, with what is wrong and where, for a file that is no manifest, of another schema, or broken: a
// manifest that cannot be read whole must not pass for one in which nothing stands.
Result<TrainingManifest> read_manifest(const std::filesystem::path& path);
Result<TrainingManifest> manifest_from_json(std::string_view text, std::string_view name = "the manifest");

// The hashes that stand in a manifest: SHA-256 of prompt, NUL and completion; of messages their canonical
// JSON without the nulls; of a text the text.
std::string row_sha256(std::string_view prompt, std::string_view completion);
std::string messages_sha256(const boost::json::value& messages);
std::string text_sha256(std::string_view text);

// A task or a row of an evaluation; what it has not is empty.
struct EvaluatedItem {
  std::string task_id;
  std::string row_id;
  std::set<std::string> sha256;  // of every form that it could have been trained in

  // Nothing to look for it by: that it was not seen says nothing.
  bool is_comparable() const { return !task_id.empty() || !row_id.empty() || !sha256.empty(); }

  auto operator<=>(const EvaluatedItem&) const = default;
};

struct Seen {
  std::size_t item = 0;  // its number
  std::string by;        // "task_id", "row_id", "sha256": the first of these that matches
  std::string what;      // the value
};

// Tasks are compared without blanks at their ends and without regard to case, `/` and `_` being one; a
// KernelBench task without a level (kernelbench_19, kernelbench/?/19) is that problem of any level. A row's
// id may be a task's name.
std::vector<Seen> seen_in_training(const TrainingManifest& manifest, const std::vector<EvaluatedItem>& items);

}  // namespace kw::score
