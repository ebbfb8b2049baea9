#include "serve/task_catalogue.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/core/crypto.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "base/core/words.h"
#include "types/trace.h"

namespace kw::service {
namespace {

namespace json = boost::json;

// The search for the nearest id is quadratic in the lengths, and the name is a client's: a few milliseconds.
constexpr std::size_t longest_compared = 96;
constexpr std::size_t most_steps = 8'000'000;
constexpr std::size_t longest_shown = 200;
constexpr std::size_t version_digits = 32;

// The text fields of a task that the store keeps.
constexpr std::pair<std::string_view, std::string Task::*> kept_fields[] = {
    {"task_id", &Task::task_id},
    {"source", &Task::source},
    {"level", &Task::level},
    {"problem_id", &Task::problem_id},
    {"sample_key", &Task::sample_key},
    {"name", &Task::name},
    {"reference_code", &Task::reference_code},
    {"entry_point", &Task::entry_point},
    {"input_shapes", &Task::input_shapes}};

// Removes insignificant white space and keeps the order, as the key of a work does.
std::string shapes_of(const Task& task) {
  auto shapes = parse_json(task.input_shapes);
  return shapes ? json::serialize(*shapes) : task.input_shapes;
}

}  // namespace

std::string version_of(const Task& task) {
  return sha256_hex_of({task.reference_code, shapes_of(task), task.entry_point}).substr(0, version_digits);
}

std::string pinned_text(const KnownTask& task) {
  json::object fields;
  for (const auto& [name, member] : kept_fields)
    if (const std::string& text = task.task.*member; !text.empty()) fields[name] = text;
  return json::serialize(fields);
}

Result<KnownTaskPtr> read_pinned(std::string_view text) {
  auto value = parse_json(text);
  if (!value || !value->is_object()) return fail("the stored task is damaged");
  KnownTask known;
  for (const auto& [name, member] : kept_fields)
    known.task.*member = string_at(value->get_object(), name).value_or("");
  if (known.task.reference_code.empty()) return fail("the stored task has no reference");
  known.version = version_of(known.task);
  return std::make_shared<const KnownTask>(std::move(known));
}

Result<TaskCatalogue> TaskCatalogue::read(Source& source, const std::function<void(const RowError&)>& bad_row,
                                          std::string_view name) {
  TaskCatalogue catalogue;
  Result<> added;
  while (added) {
    auto next = source.next();
    if (!next) return std::unexpected(next.error());
    if (!*next) break;
    if (auto* bad = std::get_if<RowError>(&**next)) {
      ++catalogue.counts_.bad_rows;
      bad_row(*bad);
      continue;
    }
    added = catalogue.add(std::move(std::get<Job>(**next).task));
  }
  if (!added) return std::unexpected(added.error());
  if (catalogue.tasks_.empty())
    return fail(fmt::format("{} has no task (bad rows: {})", name, catalogue.counts_.bad_rows),
                "`kernelwright run --dry-run` with the same paths lists what it finds");
  return catalogue;
}

Result<> TaskCatalogue::add(Task task) {
  KnownTask known{std::move(task), {}};
  known.version = version_of(known.task);
  if (auto earlier = by_id_.find(known.task.task_id); earlier != by_id_.end()) {
    if (earlier->second->version == known.version) return ++counts_.repeated, Result<>();
    return fail(fmt::format("two different tasks have the id \"{}\" (versions {} and {})",
                            shorten(to_plain_text(known.task.task_id), longest_shown),
                            earlier->second->version, known.version),
                "give each task an id of its own");
  }
  for (const auto& [name, member] : kept_fields) bytes_ += (known.task.*member).size();
  auto kept = std::make_shared<const KnownTask>(std::move(known));
  auto [other, is_new] = by_key_.emplace(sample_key(kept->task), kept);
  if (!is_new) other->second = nullptr;
  by_id_.emplace(kept->task.task_id, kept);
  tasks_.push_back(std::move(kept));
  return {};
}

KnownTaskPtr TaskCatalogue::find(std::string_view name) const {
  if (auto found = by_id_.find(name); found != by_id_.end()) return found->second;
  auto found = by_key_.find(name);
  return found == by_key_.end() ? nullptr : found->second;
}

std::string TaskCatalogue::nearest_id(std::string_view name) const {
  if (name.size() > longest_compared) return {};
  const std::size_t most_compared = most_steps / (name.size() * name.size() + 1);
  std::vector<std::string> names;
  auto add = [&](const std::string& each) {
    const std::size_t difference = std::max(each.size(), name.size()) - std::min(each.size(), name.size());
    if (each.size() <= longest_compared && difference <= name.size() / 3 + 2 && names.size() < most_compared)
      names.push_back(each);
  };
  for (const KnownTaskPtr& each : tasks_) {
    add(each->task.task_id);
    add(sample_key(each->task));
  }
  return nearest(name, names);
}

Answered<KnownTaskPtr> TaskCatalogue::look_up(std::string_view name, std::string_view version) const {
  KnownTaskPtr found = find(name);
  if (!found) {
    std::string near = nearest_id(name);
    return refuse(
        {404, "unknown_task",
         fmt::format("this service has no task \"{}\"{}", shorten(to_plain_text(name), longest_shown),
                     near.empty() ? "; GET /v1/tasks lists them"
                                  : fmt::format("; the nearest is \"{}\"", to_plain_text(near))),
         "task_id"});
  }
  if (!version.empty() && version != found->version)
    return refuse({409, "other_version",
                   fmt::format("the task \"{}\" has the version {} here, not {}",
                               shorten(to_plain_text(name), longest_shown), found->version,
                               shorten(to_plain_text(version), version_digits)),
                   "task_version"});
  return found;
}

}  // namespace kw::service
