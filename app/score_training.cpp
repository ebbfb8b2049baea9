#include <filesystem>
#include <set>

#include "score_parts.h"

namespace kw::app {
namespace {

namespace fs = std::filesystem;

score::EvaluatedItem evaluated(const scoring::Output& output) {
  return {output.record.task_id, output.record.row_id, output.trained_forms};
}

}  // namespace

Result<TrainingGate> TrainingGate::open(const ScoreFlags& flags) {
  TrainingGate gate;
  std::vector<fs::path> paths(flags.manifests.begin(), flags.manifests.end());
  for (const std::string& adapter : flags.adapters)
    paths.push_back(fs::path(adapter) / "training_manifest.json");
  for (const fs::path& path : paths) {
    auto manifest = score::read_manifest(path);
    if (!manifest) return std::unexpected(manifest.error());
    gate.loaded_.push_back({path.string(), std::move(*manifest)});
  }
  return gate;
}

std::vector<scoring::TrainingCheck::Seen> TrainingGate::seen(const std::vector<Item>& items) const {
  std::vector<score::EvaluatedItem> evaluated;
  for (const Item& item : items) evaluated.push_back(item.what);
  std::vector<scoring::TrainingCheck::Seen> all;
  for (const Loaded& loaded : loaded_)
    for (score::Seen& seen : score::seen_in_training(loaded.manifest, evaluated))
      all.push_back({items[seen.item].name, std::move(seen.by), std::move(seen.what), loaded.path});
  return all;
}

void TrainingGate::mark(scoring::OutputSet& set) const {
  std::vector<score::EvaluatedItem> items;
  for (const scoring::Output& output : set.outputs) items.push_back(evaluated(output));
  for (const Loaded& loaded : loaded_)
    for (const score::Seen& seen : score::seen_in_training(loaded.manifest, items))
      set.outputs[seen.item].record.was_trained_on = true;
}

scoring::TrainingCheck TrainingGate::check(const std::vector<Item>& items, bool is_allowed) const {
  scoring::TrainingCheck check;
  for (const Loaded& loaded : loaded_)
    check.manifests.push_back(
        {loaded.path, loaded.manifest.base_model, loaded.manifest.rows, loaded.manifest.rows_without_task});
  check.items = items.size();
  for (const Item& item : items) check.not_comparable += item.what.is_comparable() ? 0 : 1;
  check.seen = seen(items);
  check.is_allowed = is_allowed;
  return check;
}

std::vector<TrainingGate::Item> items_of(const scoring::OutputSet& set) {
  // Samples of one task are one item.
  std::set<score::EvaluatedItem> known;
  std::vector<TrainingGate::Item> items;
  for (const scoring::Output& output : set.outputs) {
    score::EvaluatedItem item = evaluated(output);
    if (known.insert(item).second) items.push_back({output.record.item, std::move(item)});
  }
  return items;
}

}  // namespace kw::app
