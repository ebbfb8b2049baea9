#include "tasks/open_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "schema/trace.h"
#include "tasks/hub.h"
#include "tasks/recognise.h"
#include "tasks/task_sources.h"

namespace kw {
namespace {

// Which of the ids asked for were met.
class Wanted {
 public:
  explicit Wanted(const std::vector<std::string>& ids) : missing_(ids.begin(), ids.end()), ids_(missing_) {}

  bool accepts(const Task& task) {
    bool accepted = false;
    for (const std::string& name : {sample_key(task), task.task_id}) {
      if (!ids_.contains(name)) continue;
      missing_.erase(name);
      accepted = true;
    }
    return accepted;
  }
  const std::set<std::string>& missing() const { return missing_; }

 private:
  std::set<std::string> missing_;
  std::set<std::string> ids_;
};

class Opening {
 public:
  Opening(const SourceOptions& options, const ParquetHelper& helper)
      : options_(options), helper_(helper), wanted_(std::make_shared<Wanted>(options.sample_ids)) {}

  Result<> add_all();
  Result<TaskSourcePtr> finish();

 private:
  Result<> add_path(const std::string& path);
  Result<> add_kind(const std::string& path, InputKind kind);
  Result<> add_kernelbook(const std::string& named);
  Result<> add_kernelbench(const std::string& named);
  Result<> add(Result<TaskSourcePtr> source);
  TaskSourcePtr filtered(TaskSourcePtr source, const std::set<int>& levels) const;
  bool searches() const { return !options_.sample_ids.empty(); }

  const SourceOptions& options_;
  const ParquetHelper& helper_;
  std::shared_ptr<Wanted> wanted_;
  std::vector<TaskSourcePtr> parts_;
};

// Recorded tasks may be of KernelBench, too.
bool is_of(const Task& task, const std::set<int>& levels) {
  if (levels.empty() || task.source != "kernelbench" || task.level.empty()) return true;
  return std::ranges::any_of(levels, [&](int level) { return task.level == std::to_string(level); });
}

// A filter hides how many tasks there are, so there is none without need.
TaskSourcePtr Opening::filtered(TaskSourcePtr source, const std::set<int>& levels) const {
  if (!searches() && levels.empty()) return source;
  return filter_tasks(std::move(source), [levels, wanted = wanted_, searches = searches()](const Task& task) {
    return is_of(task, levels) && (!searches || wanted->accepts(task));
  });
}

Result<> Opening::add(Result<TaskSourcePtr> source) {
  if (!source) return std::unexpected(source.error());
  parts_.push_back(filtered(std::move(*source), options_.levels));
  return {};
}

Result<> Opening::add_kernelbook(const std::string& named) {
  if (options_.kernelbook_samples == 0) return {};
  auto revision = hub_revision(named);
  auto files = revision ? hub_files({"kernelbook", *revision, {}}, helper_) : kernelbook_files(named);
  if (!files) return std::unexpected(files.error());
  auto table = kernelbook_tasks(*files, helper_);
  if (!table) return std::unexpected(table.error());
  TaskSourcePtr rows = filtered(std::move(*table), {});
  if (searches())
    parts_.push_back(std::move(rows));
  else if (!options_.shuffle)
    parts_.push_back(first_tasks(std::move(rows), options_.kernelbook_samples));
  else {
    auto sample = sample_tasks(*rows, options_.kernelbook_samples, options_.seed);
    if (!sample) return std::unexpected(sample.error());
    parts_.push_back(std::move(*sample));
  }
  return {};
}

Result<> Opening::add_kernelbench(const std::string& named) {
  if (options_.kernelbench_samples == 0) return {};
  auto revision = hub_revision(named);
  std::vector<std::string> files;
  if (revision) {
    auto found = hub_files({"kernelbench", *revision, options_.levels}, helper_);
    if (!found) return std::unexpected(found.error());
    files = std::move(*found);
  }
  auto tasks =
      revision ? KernelBenchTasks::from_tables(files, helper_) : KernelBenchTasks::open(named, helper_);
  if (!tasks) return std::unexpected(tasks.error());
  std::size_t count = searches() ? SIZE_MAX : options_.kernelbench_samples;
  KernelBenchSample sample{count, options_.levels, options_.shuffle, options_.seed};
  parts_.push_back(filtered(kernelbench_tasks(std::move(*tasks), sample), {}));
  return {};
}

Result<> Opening::add_kind(const std::string& path, InputKind kind) {
  switch (kind) {
    case InputKind::traces:
      return add(trace_tasks(path, helper_));
    case InputKind::batch:
      return add(batch_tasks(path, helper_));
    case InputKind::kernelbook:
      return add_kernelbook(path);
    case InputKind::kernelbench_table:
    case InputKind::kernelbench_checkout:
      return add_kernelbench(path);
    case InputKind::pairs:
    case InputKind::references:
      return add(reference_tasks(path));
    case InputKind::tables:
      for (const auto& [table, its_kind] : task_tables_in(path, helper_))
        if (auto added = add_kind(table, its_kind); !added) return added;
      return {};
    case InputKind::kernelbench_run:
      return fail(fmt::format("{} holds the kernels of a run, and no tasks", path),
                  "give the tasks that it was made of with --kernelbench DIR");
    case InputKind::source:
      break;
  }
  auto task = read_reference(path);
  if (!task) return std::unexpected(task.error());
  std::vector<TaskOrError> items;
  items.emplace_back(TaskItem{std::move(*task), 0});
  return add(task_list(std::move(items)));
}

Result<> Opening::add_path(const std::string& path) {
  auto kind = recognise_tasks(path, helper_);
  if (!kind) return std::unexpected(kind.error());
  return add_kind(path, *kind);
}

Result<> Opening::add_all() {
  bool none_named = options_.paths.empty() && options_.traces.empty() && options_.kernelbook.empty() &&
                    options_.kernelbench.empty();
  for (const std::string& path : options_.paths)
    if (auto added = add_path(path); !added) return added;
  if (!options_.traces.empty())
    if (auto added = add(trace_tasks(options_.traces, helper_)); !added) return added;
  std::string kernelbook = none_named ? "hub" : options_.kernelbook;
  if (!kernelbook.empty())
    if (auto added = add_kernelbook(kernelbook); !added) return added;
  std::string kernelbench = none_named ? "hub" : options_.kernelbench;
  if (!kernelbench.empty())
    if (auto added = add_kernelbench(kernelbench); !added) return added;
  if (!parts_.empty()) return {};
  return fail("there is nothing to ask: every source is switched off",
              "give a PATH, or --kernelbook-samples or --kernelbench-samples above 0");
}

// The ids that no task had, once all other sources are at their end.
Result<TaskSourcePtr> missing_ids(const Wanted& wanted) {
  std::vector<TaskOrError> items;
  for (const std::string& id : wanted.missing())
    items.emplace_back(
        RowError{"", 0, fmt::format("no task is called \"{}\"", id),
                 "ids are like kernelbench_19, kernelbench/1/19 or kernelbook_66; --dry-run lists them"});
  return task_list(std::move(items));
}

Result<TaskSourcePtr> Opening::finish() {
  if (searches()) parts_.push_back(open_later([wanted = wanted_] { return missing_ids(*wanted); }));
  TaskSourcePtr all = number_occurrences(join(std::move(parts_)));
  if (options_.shuffle) {
    auto shuffled = sample_tasks(*all, SIZE_MAX, options_.seed);
    if (!shuffled) return shuffled;
    all = std::move(*shuffled);
  }
  return options_.limit ? first_tasks(std::move(all), *options_.limit) : std::move(all);
}

}  // namespace

Result<TaskSourcePtr> open_tasks(const SourceOptions& options, const ParquetHelper& helper) {
  Opening opening(options, helper);
  if (auto added = opening.add_all(); !added) return std::unexpected(added.error());
  return opening.finish();
}

}  // namespace kw
