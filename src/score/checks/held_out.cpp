#include "score/checks/held_out.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/core/crypto.h"
#include "base/core/files.h"
#include "base/core/json.h"
#include "base/core/text.h"

namespace kw::score {
namespace {

namespace json = boost::json;

constexpr std::string_view remedy =
    "give the training_manifest.json of the adapter's folder, as it was written";
constexpr std::size_t longest_manifest = std::size_t{2} << 30;

std::string shown(std::string_view text) {
  return to_plain_text(shorten(text, 60));
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Removes nulls: some files write missing fields as null, others omit them.
json::value without_nulls(const json::value& value) {
  if (const json::array* list = value.if_array()) {
    json::array kept;
    for (const json::value& item : *list) kept.push_back(without_nulls(item));
    return kept;
  }
  const json::object* object = value.if_object();
  if (object == nullptr) return value;
  json::object kept;
  for (const auto& field : *object)
    if (!field.value().is_null()) kept.emplace(field.key(), without_nulls(field.value()));
  return kept;
}

// Reads a string; empty for null or a missing field. False for a value of another type.
bool take(const json::object& row, std::string_view key, std::string& value) {
  const json::value* found = row.if_contains(key);
  value.clear();
  if (found == nullptr || found->is_null()) return true;
  if (!found->is_string()) return false;
  value = found->as_string();
  return true;
}

// The common key of equivalent task names, such as " KernelBench/1/19" and "kernelbench_1_19".
std::string task_key(std::string_view name) {
  std::string key;
  for (char c : trim(name)) key += c == '/' ? '_' : lower(c);
  constexpr std::string_view any_level = "kernelbench_?_";
  if (key.starts_with(any_level)) key.replace(0, any_level.size(), "kernelbench_");
  return key;
}

// The key without the level; empty for other tasks than KernelBench problems.
std::string problem_key(std::string_view key) {
  constexpr std::string_view benchmark = "kernelbench_";
  if (!key.starts_with(benchmark)) return "";
  std::string_view number = key.substr(key.rfind('_') + 1);
  bool is_number = !number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos;
  return is_number ? fmt::format("{}{}", benchmark, number) : "";
}

bool names_trained_task(const TrainingManifest& manifest, std::string_view name) {
  std::string key = task_key(name);
  if (key.empty()) return false;
  if (manifest.task_keys.contains(key)) return true;
  std::string problem = problem_key(key);
  if (problem.empty()) return false;
  // Without equal keys, the tasks match only if one of them has no level.
  return problem == key ? manifest.problems.contains(problem) : manifest.task_keys.contains(problem);
}

void add_task(std::string_view name, TrainingManifest& manifest) {
  std::string key = task_key(name);
  if (std::string problem = problem_key(key); !problem.empty()) manifest.problems.insert(std::move(problem));
  if (!key.empty()) manifest.task_keys.insert(std::move(key));
}

// A number alone is not a task's name.
bool may_name_task(std::string_view id) {
  return id.find_first_not_of("0123456789 .-") != std::string_view::npos;
}

const std::string* trained_hash(const TrainingManifest& manifest, const std::set<std::string>& hashes) {
  for (const std::string& hash : hashes)
    if (manifest.sha256.contains(hash)) return &hash;
  return nullptr;
}

Result<> add_row(const json::value& value, const std::string& where, TrainingManifest& manifest) {
  const json::object* row = value.if_object();
  if (row == nullptr) return fail(fmt::format("{} is no object", where), std::string(remedy));
  std::string id, task_id, sha256;
  if (!take(*row, "id", id) || !take(*row, "task_id", task_id) || !take(*row, "sha256", sha256))
    return fail(fmt::format("{}: id, task_id and sha256 must be strings or null", where),
                std::string(remedy));
  if (!is_sha256(sha256))
    return fail(fmt::format("{}: sha256 is '{}', not 64 digits", where, shown(sha256)), std::string(remedy));
  ++manifest.rows;
  manifest.sha256.insert(std::move(sha256));
  if (task_id.empty())
    ++manifest.rows_without_task;
  else
    add_task(task_id, manifest);
  if (task_id.empty() && may_name_task(id)) add_task(id, manifest);
  if (std::string_view trimmed = trim(id); !trimmed.empty()) manifest.row_ids.emplace(trimmed);
  return {};
}

}  // namespace

Result<TrainingManifest> manifest_from_json(std::string_view text, std::string_view name) {
  auto parsed = parse_json(text);
  if (!parsed) return fail(fmt::format("{} is no JSON: {}", name, parsed.error().what), std::string(remedy));
  const json::object* root = parsed->if_object();
  if (root == nullptr) return fail(fmt::format("{} is no JSON object", name), std::string(remedy));
  auto schema = string_at(*root, "schema");
  if (schema != training_schema)
    return fail(
        fmt::format("{} has the schema '{}', not {}", name, shown(schema.value_or("")), training_schema),
        std::string(remedy));
  const json::value* rows = root->if_contains("rows");
  if (rows == nullptr || !rows->is_array())
    return fail(fmt::format("{} has no list of rows", name), std::string(remedy));
  TrainingManifest manifest;
  manifest.program = string_at(*root, "program").value_or("");
  manifest.base_model = string_at(*root, "base_model").value_or("");
  for (const json::value& row : rows->as_array()) {
    std::string where = fmt::format("{}, row {}", name, manifest.rows + 1);
    if (auto added = add_row(row, where, manifest); !added) return std::unexpected(added.error());
  }
  return manifest;
}

Result<TrainingManifest> read_manifest(const std::filesystem::path& path) {
  auto text = read_text_file(path, longest_manifest);
  if (!text) return fail(text.error().what, std::string(remedy));
  return manifest_from_json(*text, path.string());
}

std::string row_sha256(std::string_view prompt, std::string_view completion) {
  std::string bytes(prompt);
  bytes += '\0';
  bytes += completion;
  return sha256_hex(bytes);
}

std::string messages_sha256(const json::value& messages) {
  return sha256_hex(canonical_json(without_nulls(messages)));
}

std::string text_sha256(std::string_view text) {
  return sha256_hex(text);
}

std::vector<Seen> seen_in_training(const TrainingManifest& manifest,
                                   const std::vector<EvaluatedItem>& items) {
  std::vector<Seen> seen;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const EvaluatedItem& item = items[i];
    if (names_trained_task(manifest, item.task_id))
      seen.push_back({i, "task_id", item.task_id});
    else if (manifest.row_ids.contains(std::string(trim(item.row_id))))
      seen.push_back({i, "row_id", item.row_id});
    else if (names_trained_task(manifest, item.row_id))
      seen.push_back({i, "task_id", item.row_id});
    else if (const std::string* hash = trained_hash(manifest, item.sha256))
      seen.push_back({i, "sha256", *hash});
  }
  return seen;
}

}  // namespace kw::score
