#include "loop/tasks/select_tasks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/core/json.h"
#include "base/process/child.h"
#include "base/rows/row_reader.h"
#include "loop/tasks/formats.h"
#include "loop/tasks/kernelbench.h"
#include "types/trace.h"

namespace kw {
namespace json = boost::json;
namespace {

// The helper's own message, if it gave a reason.
Error error_in(const json::object& answer) {
  const json::value* error = answer.if_contains("error");
  if (!error || !error->is_object()) return {"the hub's helper gave an answer that is none", ""};
  return {string_at(error->get_object(), "what").value_or("the hub's helper failed"),
          string_at(error->get_object(), "remedy").value_or("")};
}

Result<std::vector<std::string>> read_answer(LineReader lines) {
  std::vector<std::string> files;
  while (true) {
    auto line = lines.next();
    if (!line) return std::unexpected(line.error());
    if (!*line) return files;
    auto value = parse_json((*line)->text);
    if (!value || !value->is_object()) return std::unexpected(error_in({}));
    const json::object& answer = value->get_object();
    if (auto file = string_at(answer, "file"))
      files.push_back(*file);
    else if (!answer.contains("repo"))
      return std::unexpected(error_in(answer));
  }
}

}  // namespace

std::optional<std::string> hub_revision(std::string_view text) {
  if (text == "hub") return "";
  if (text.starts_with("hub@")) return std::string(text.substr(4));
  return {};
}

Result<std::vector<std::string>> hub_files(const HubRequest& request, const ParquetHelper& helper) {
  if (helper.python.empty())
    return fail("no Python was found that could reach the hub",
                fmt::format("name one with --python, or give a copy with --{}", request.name));
  std::string script = (std::filesystem::path(helper.script).parent_path() / "hub.py").string();
  std::vector<std::string> argv{helper.python, "-I", script, request.name};
  if (!request.revision.empty()) argv.insert(argv.end(), {"--revision", request.revision});
  if (!request.levels.empty())
    argv.insert(argv.end(), {"--levels", fmt::format("{}", fmt::join(request.levels, ","))});
  auto started = process::start_helper(argv, process::HelperErrors::shown);
  if (!started) return std::unexpected(started.error());
  auto& [child, out] = *started;
  auto files = read_answer(LineReader(std::move(out), script));
  if (!files) return files;
  if (auto end = child.finish(); !end) return std::unexpected(end.error());
  if (files->empty()) return fail("the hub's helper named no files");
  return files;
}

namespace fs = std::filesystem;
namespace {

// Records which of the requested ids have been found.
class AskedIds {
 public:
  explicit AskedIds(const std::vector<std::string>& ids) : missing_(ids.begin(), ids.end()), ids_(missing_) {}

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

class Selecting {
 public:
  Selecting(const TaskSelection& selection, std::uint64_t seed, const ParquetHelper& helper)
      : selection_(selection),
        seed_(seed),
        helper_(helper),
        ids_(std::make_shared<AskedIds>(selection.sample_ids)) {}

  Result<> add_all();
  Result<SourcePtr> finish();

 private:
  Result<> add_path(const std::string& path);
  Result<> add_kind(const std::string& path, InputKind kind);
  Result<> add_kernelbook(const std::string& named);
  Result<> add_kernelbench(const std::string& named);
  Result<> add(Result<SourcePtr> source);
  Result<SourcePtr> open(const std::string& path, InputKind kind) const;
  Result<SourcePtr> open_kernelbook(const std::vector<std::string>& files) const;
  SourcePtr filtered(SourcePtr source, const std::set<int>& levels) const;
  bool searches() const { return !selection_.sample_ids.empty(); }

  const TaskSelection& selection_;
  std::uint64_t seed_;
  const ParquetHelper& helper_;
  std::shared_ptr<AskedIds> ids_;
  std::vector<SourcePtr> parts_;
};

// The files of a path given as KernelBook: the file itself, or the tables of a folder.
Result<std::vector<std::string>> kernelbook_files(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector{path};
  std::vector<std::string> files = parquet_files_below(path);
  // The hub's data set has its rows with permissive licences in this file, and repeats them in others.
  auto preferred = std::ranges::find_if(files, [](const std::string& file) {
    return fs::path(file).filename() == "dataset_permissive.parquet";
  });
  if (preferred != files.end()) return std::vector{*preferred};
  if (files.empty())
    for (const auto& entry : fs::directory_iterator(path, error))
      if (entry.path().extension() == ".jsonl") files.push_back(entry.path().string());
  if (files.empty())
    return fail(path + " holds no KernelBook rows", "give a .parquet or .jsonl file, or a folder with some");
  std::ranges::sort(files);
  return files;
}

// Recorded tasks may also come from KernelBench.
bool is_of(const Task& task, const std::set<int>& levels) {
  if (levels.empty() || task.source != "kernelbench" || task.level.empty()) return true;
  return std::ranges::any_of(levels, [&](int level) { return task.level == std::to_string(level); });
}

// A filter hides the number of tasks, so it is added only if it is needed.
SourcePtr Selecting::filtered(SourcePtr source, const std::set<int>& levels) const {
  if (!searches() && levels.empty()) return source;
  return filter_jobs(std::move(source), [levels, ids = ids_, searches = searches()](const Task& task) {
    return is_of(task, levels) && (!searches || ids->accepts(task));
  });
}

Result<> Selecting::add(Result<SourcePtr> source) {
  if (!source) return std::unexpected(source.error());
  parts_.push_back(filtered(std::move(*source), selection_.levels));
  return {};
}

Result<SourcePtr> Selecting::open(const std::string& path, InputKind kind) const {
  return open_source(path, {.helper = helper_, .kind = kind, .wanted = Wanted::tasks});
}

// Reads several files in sequence and opens each when the previous one has ended.
Result<SourcePtr> Selecting::open_kernelbook(const std::vector<std::string>& files) const {
  if (files.size() == 1) return open(files.front(), InputKind::kernelbook);
  std::vector<SourcePtr> tables;
  for (const std::string& file : files)
    tables.push_back(open_later([file, helper = helper_] {
      return open_source(file, {.helper = helper, .kind = InputKind::kernelbook, .wanted = Wanted::tasks});
    }));
  return number_occurrences(join(std::move(tables)));
}

Result<> Selecting::add_kernelbook(const std::string& named) {
  if (selection_.kernelbook_samples == 0) return {};
  auto revision = hub_revision(named);
  auto files = revision ? hub_files({"kernelbook", *revision, {}}, helper_) : kernelbook_files(named);
  if (!files) return std::unexpected(files.error());
  auto table = open_kernelbook(*files);
  if (!table) return std::unexpected(table.error());
  SourcePtr rows = filtered(std::move(*table), {});
  if (searches())
    parts_.push_back(std::move(rows));
  else if (!selection_.shuffle)
    parts_.push_back(first_jobs(std::move(rows), selection_.kernelbook_samples, BadRows::not_counted));
  else {
    auto sample = sample_jobs(*rows, selection_.kernelbook_samples, seed_);
    if (!sample) return std::unexpected(sample.error());
    parts_.push_back(std::move(*sample));
  }
  return {};
}

Result<> Selecting::add_kernelbench(const std::string& named) {
  if (selection_.kernelbench_samples == 0) return {};
  auto revision = hub_revision(named);
  std::vector<std::string> files;
  if (revision) {
    auto found = hub_files({"kernelbench", *revision, selection_.levels}, helper_);
    if (!found) return std::unexpected(found.error());
    files = std::move(*found);
  }
  auto tasks =
      revision ? KernelBenchTasks::from_tables(files, helper_) : KernelBenchTasks::open(named, helper_);
  if (!tasks) return std::unexpected(tasks.error());
  std::size_t count = searches() ? SIZE_MAX : selection_.kernelbench_samples;
  KernelBenchSample sample{count, selection_.levels, selection_.shuffle, seed_};
  parts_.push_back(filtered(kernelbench_tasks(std::move(*tasks), sample), {}));
  return {};
}

Result<> Selecting::add_kind(const std::string& path, InputKind kind) {
  if (kind == InputKind::kernelbook) return add_kernelbook(path);
  if (kind == InputKind::kernelbench_table || kind == InputKind::kernelbench_checkout)
    return add_kernelbench(path);
  if (kind != InputKind::tables) return add(open(path, kind));
  for (const auto& [table, its_kind] : tables_in(path, Wanted::tasks, helper_))
    if (auto added = add_kind(table, its_kind); !added) return added;
  return {};
}

Result<> Selecting::add_path(const std::string& path) {
  auto kind = recognise(path, Wanted::tasks, helper_);
  if (!kind) return std::unexpected(kind.error());
  return add_kind(path, *kind);
}

Result<> Selecting::add_all() {
  bool none_named = selection_.paths.empty() && selection_.traces.empty() && selection_.kernelbook.empty() &&
                    selection_.kernelbench.empty();
  for (const std::string& path : selection_.paths)
    if (auto added = add_path(path); !added) return added;
  if (!selection_.traces.empty())
    if (auto added = add_kind(selection_.traces, InputKind::traces); !added) return added;
  std::string kernelbook = none_named ? "hub" : selection_.kernelbook;
  if (!kernelbook.empty())
    if (auto added = add_kernelbook(kernelbook); !added) return added;
  std::string kernelbench = none_named ? "hub" : selection_.kernelbench;
  if (!kernelbench.empty())
    if (auto added = add_kernelbench(kernelbench); !added) return added;
  if (!parts_.empty()) return {};
  return fail("there is nothing to ask: every source is switched off",
              "give a PATH, or --kernelbook-samples or --kernelbench-samples above 0");
}

// A bad row for each id that no task had. Valid only after all other sources have ended.
Result<SourcePtr> missing_ids(const AskedIds& ids) {
  std::vector<JobOrError> items;
  for (const std::string& id : ids.missing())
    items.emplace_back(
        RowError{"", 0, fmt::format("no task is called \"{}\"", id),
                 "ids are like kernelbench_19, kernelbench/1/19 or kernelbook_66; --dry-run lists them"});
  return job_list(std::move(items));
}

Result<SourcePtr> Selecting::finish() {
  if (searches()) parts_.push_back(open_later([ids = ids_] { return missing_ids(*ids); }));
  SourcePtr all = number_occurrences(join(std::move(parts_)));
  if (selection_.shuffle) {
    auto shuffled = sample_jobs(*all, SIZE_MAX, seed_);
    if (!shuffled) return shuffled;
    all = std::move(*shuffled);
  }
  return selection_.limit ? first_jobs(std::move(all), *selection_.limit, BadRows::not_counted)
                          : std::move(all);
}

}  // namespace

Result<SourcePtr> select_tasks(const TaskSelection& selection, std::uint64_t seed,
                               const ParquetHelper& helper) {
  Selecting selecting(selection, seed, helper);
  if (auto added = selecting.add_all(); !added) return std::unexpected(added.error());
  return selecting.finish();
}

}  // namespace kw
