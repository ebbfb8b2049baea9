#include "loop/plan.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>

#include "base/core/files.h"
#include "base/core/json.h"

namespace kw::bench {
namespace json = boost::json;
namespace {

std::size_t size_at(const json::object& object, std::string_view key) {
  return static_cast<std::size_t>(number_at(object, key).value_or(0));
}

PlannedTask task_of(const json::object& object) {
  PlannedTask task;
  task.solved = bool_at(object, "solved").value_or(true);
  for (const json::value& turn : object.at("turns").as_array())
    task.turns.push_back({number_at(turn.as_object(), "generation_ms").value_or(0),
                          number_at(turn.as_object(), "verification_ms").value_or(0)});
  return task;
}

}  // namespace

Result<Plan> read_plan(const std::string& path) {
  auto text = read_file(path);
  if (!text) return std::unexpected(text.error());
  auto value = parse_json(*text);
  if (!value) return fail(fmt::format("{}: {}", path, value.error().what));
  const json::object& object = value->as_object();
  Plan plan;
  plan.reasoning_bytes = size_at(object, "reasoning_bytes");
  plan.content_bytes = size_at(object, "content_bytes");
  plan.pieces = size_at(object, "pieces");
  plan.max_turns = size_at(object, "max_turns");
  plan.verifications = size_at(object, "verifications");
  for (const auto& [name, task] : object.at("tasks").as_object())
    plan.tasks.emplace(std::string(name), task_of(task.as_object()));
  return plan;
}

}  // namespace kw::bench
