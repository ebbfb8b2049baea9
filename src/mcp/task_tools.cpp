#include "mcp/task_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <unordered_set>

#include "base/core/counted.h"
#include "base/core/display.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "base/core/words.h"
#include "loop/refine/prompt.h"
#include "mcp/arguments.h"
#include "mcp/shown.h"
#include "types/trace.h"

namespace kw::mcp {
namespace {

namespace json = boost::json;

constexpr std::size_t most_listed = 200;
constexpr std::size_t normally_listed = 50;
constexpr std::size_t most_reference_bytes = std::size_t{256} << 10;

std::size_t bytes_of(const Task& task) {
  return sizeof(Task) + task.reference_code.size() + task.input_shapes.size() + task.task_id.size() +
         task.name.size();
}

Result<TaskCatalog::Contents> read_source(const TaskCatalog::Open& open) {
  auto source = open();
  if (!source) return std::unexpected(source.error());
  TaskCatalog::Contents contents;
  std::unordered_set<std::string> ids;
  std::size_t bytes = 0;
  while (true) {
    auto next = (*source)->next();
    if (!next) return std::unexpected(next.error());
    if (!*next) return contents;
    if (auto* error = std::get_if<RowError>(&**next)) {
      if (contents.bad_rows++ == 0) contents.first_bad_row = describe(*error);
      continue;
    }
    Task& task = std::get<Job>(**next).task;
    if (!ids.insert(task.task_id).second) continue;
    bytes += bytes_of(task);
    contents.is_cut = contents.tasks.size() == most_tasks || bytes > most_task_bytes;
    if (contents.is_cut) return contents;
    contents.tasks.push_back(std::move(task));
  }
}

json::object facts_of(const Task& task) {
  return {{"task_id", shown(task.task_id)},
          {"key", shown(sample_key(task))},
          {"name", shown(task.name)},
          {"source", shown(task.source)},
          {"level", text_or_null(shown(task.level))}};
}

bool fits(const Task& task, const std::string& words) {
  return lower(task.task_id).contains(words) || lower(sample_key(task)).contains(words) ||
         lower(task.name).contains(words);
}

json::object text_field(std::string_view about) {
  return {{"type", "string"}, {"description", about}};
}

json::object facts_schema() {
  return {{"task_id", text_field("names the task for get_task and verify")},
          {"key", text_field("names it as well, where it is unique")},
          {"name", {{"type", "string"}}},
          {"source", {{"type", "string"}}},
          {"level", {{"type", json::array{"string", "null"}}}}};
}

class ListTasks : public Tool {
 public:
  explicit ListTasks(TaskCatalog& tasks)
      : tasks_(tasks),
        arguments_("list_tasks",
                   {{.name = "filter", .description = "only tasks whose id, key or name contains this"},
                    {.name = "offset", .kind = Argument::Kind::whole, .description = "of the first one [0]"},
                    {.name = "limit",
                     .kind = Argument::Kind::whole,
                     .description = fmt::format("how many [{}]", normally_listed),
                     .least = 1,
                     .most = most_listed}}) {
    json::object task{{"type", "object"}, {"properties", facts_schema()}};
    description_ = {
        .name = "list_tasks",
        .title = "List tasks",
        .text = "Lists the tasks that this server offers: PyTorch references to write Triton kernels for.",
        .input_schema = arguments_.schema(),
        .output_schema = {
            {"type", "object"},
            {"properties",
             {{"tasks", {{"type", "array"}, {"items", std::move(task)}}},
              {"total", {{"type", "integer"}, {"description", "of the tasks that the filter admits"}}},
              {"next_offset",
               {{"type", json::array{"integer", "null"}}, {"description", "null: these were the last"}}}}},
            {"required", json::array{"tasks", "total", "next_offset"}}}};
  }

  const Description& description() const override { return description_; }

  async::Task<std::optional<ToolAnswer>> call(json::object given, Call call) override {
    auto arguments = arguments_.read(given);
    if (!arguments) co_return tool_error(arguments.error());
    call.say("reading the tasks");
    auto contents = co_await async::within(async::Deadline::never(), call.stop.get(), tasks_.contents());
    if (!contents.value) co_return std::nullopt;
    if (!*contents.value) co_return tool_error(contents.value->error());
    co_return listed(***contents.value, *arguments);
  }

 private:
  static ToolAnswer listed(const TaskCatalog::Contents& contents, const json::object& arguments) {
    const std::string words = lower(string_at(arguments, "filter").value_or(""));
    const auto offset = static_cast<std::size_t>(count_at(arguments, "offset").value_or(0));
    const auto limit = static_cast<std::size_t>(count_at(arguments, "limit").value_or(normally_listed));
    json::array tasks;
    std::string lines;
    std::size_t total = 0;
    for (const Task& task : contents.tasks) {
      if (!words.empty() && !fits(task, words)) continue;
      const std::size_t number = total++;
      if (number < offset || tasks.size() == limit) continue;
      tasks.push_back(facts_of(task));
      lines += fmt::format("{}  {}\n", shown(task.task_id), shown(sample_key(task)));
    }
    const std::size_t end = offset + tasks.size();
    std::string text = fmt::format("{} of {}{}\n{}", tasks.size(), counted(total, "task"),
                                   contents.is_cut ? " (the source has more than are offered)" : "", lines);
    if (contents.bad_rows > 0)
      text += fmt::format("{} left out; the first: {}\n",
                          counted(contents.bad_rows, "row of the source is", "rows of the source are"),
                          shown(contents.first_bad_row));
    json::value next = end < total && !tasks.empty() ? json::value(end) : json::value();
    return {std::move(text), {{"tasks", std::move(tasks)}, {"total", total}, {"next_offset", next}}};
  }

  TaskCatalog& tasks_;
  Arguments arguments_;
  Description description_;
};

class GetTask : public Tool {
 public:
  GetTask(TaskCatalog& tasks, refine::PromptStyle style, bool gradients)
      : tasks_(tasks),
        style_(style),
        gradients_(gradients),
        arguments_(
            "get_task",
            {{.name = "task_id", .description = "id or key of a task of `list_tasks`", .is_required = true},
             {.name = "rules",
              .kind = Argument::Kind::flag,
              .description = "true: also the rules that models get, with a primer on Triton [false]"}}) {
    json::object properties = facts_schema();
    properties["entry_point"] = text_field("class or function of the reference; empty: recognised");
    properties["input_shapes"] = text_field("JSON, empty if the reference has get_inputs");
    properties["reference"] = text_field("its source");
    description_ = {.name = "get_task",
                    .title = "Get a task",
                    .text = "Answers with a task's prompt: the reference, its inputs, and what to write.",
                    .input_schema = arguments_.schema(),
                    .output_schema = {{"type", "object"},
                                      {"properties", std::move(properties)},
                                      {"required", json::array{"task_id", "reference"}}}};
  }

  const Description& description() const override { return description_; }

  async::Task<std::optional<ToolAnswer>> call(json::object given, Call call) override {
    auto arguments = arguments_.read(given);
    if (!arguments) co_return tool_error(arguments.error());
    call.say("reading the tasks");
    auto found = co_await async::within(async::Deadline::never(), call.stop.get(),
                                        tasks_.find(*string_at(*arguments, "task_id")));
    if (!found.value) co_return std::nullopt;
    if (!*found.value) co_return tool_error(found.value->error());
    const Task& task = ***found.value;
    std::string text = refine::user_turn(task, style_, gradients_);
    if (bool_at(*arguments, "rules").value_or(false))
      text = fmt::format("{}\n\n{}", refine::system_prompt_for(style_, gradients_), text);
    json::object facts = facts_of(task);
    facts["entry_point"] = shown(task.entry_point);
    facts["input_shapes"] = shorten(task.input_shapes, most_reference_bytes);
    facts["reference"] = shorten(task.reference_code, most_reference_bytes);
    co_return ToolAnswer{std::move(text), std::move(facts)};
  }

 private:
  TaskCatalog& tasks_;
  refine::PromptStyle style_;
  bool gradients_;  // are judged, so the prompt asks for them
  Arguments arguments_;
  Description description_;
};

}  // namespace

TaskCatalog::TaskCatalog(async::Loop& loop, Open open) : loop_(loop), open_(std::move(open)) {}

async::Task<> TaskCatalog::read(TaskCatalog* catalog) {
  catalog->contents_ = co_await catalog->bench_.result_of<Result<Contents>>(
      [open = catalog->open_] { return read_source(open); });
  catalog->is_read_ = catalog->contents_.has_value();
}

async::Task<Result<const TaskCatalog::Contents*>> TaskCatalog::contents() {
  if (!is_read_) {
    if (!reading_) {
      reading_ = std::make_shared<async::Event>(loop_);
      async::spawn(loop_, read(this), [this](const std::exception_ptr& thrown) {
        if (thrown) contents_ = fail("the tasks cannot be read: " + async::what_of(thrown));
        std::exchange(reading_, nullptr)->set();
      });
    }
    auto reading = reading_;
    co_await reading->wait();
  }
  if (!contents_) co_return std::unexpected(contents_.error());
  co_return &*contents_;
}

async::Task<Result<const Task*>> TaskCatalog::find(std::string id) {
  auto read = co_await contents();
  if (!read) co_return std::unexpected(read.error());
  const std::vector<Task>& tasks = (*read)->tasks;
  auto found = std::ranges::find(tasks, id, &Task::task_id);
  if (found == tasks.end())
    found = std::ranges::find_if(tasks, [&](const Task& task) { return sample_key(task) == id; });
  if (found != tasks.end()) co_return &*found;
  std::vector<std::string> known;
  for (const Task& task : tasks)
    if (known.size() < 2'000) {
      known.push_back(task.task_id);
      known.push_back(sample_key(task));
    }
  const std::string near = nearest(id, known);
  co_return fail(fmt::format("no task is called \"{}\"", shown(id)),
                 near.empty() ? "`list_tasks` names them"
                              : fmt::format("did you mean {}? `list_tasks` names them", shown(near)));
}

std::unique_ptr<Tool> list_tasks_tool(TaskCatalog& tasks) {
  return std::make_unique<ListTasks>(tasks);
}

std::unique_ptr<Tool> get_task_tool(TaskCatalog& tasks, refine::PromptStyle style, bool gradients) {
  return std::make_unique<GetTask>(tasks, style, gradients);
}

}  // namespace kw::mcp
