#include "mcp/verify_tool.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <filesystem>

#include "base/async/workbench.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "code/answers/extraction.h"
#include "loop/tasks/entries.h"
#include "mcp/arguments.h"
#include "mcp/verdict_answer.h"
#include "types/options.h"

namespace kw::mcp {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

using Kind = Argument::Kind;

Argument source(std::string name, std::string description) {
  return {.name = std::move(name), .description = std::move(description), .most_bytes = most_source_bytes};
}

Argument path(std::string name, std::string description) {
  return {.name = std::move(name), .description = std::move(description), .most_bytes = 4'096};
}

json::object options_schema() {
  json::object properties;
  for (const Option* option : job_option_table()) properties[option->name()] = option->json_schema();
  return properties;
}

std::vector<Argument> arguments_of(const VerifyParts& parts) {
  std::vector<Argument> all;
  all.push_back(
      source("reference",
             "source of the PyTorch reference: a function such as reference_impl, or a class Model; "
             "with get_inputs(), unless `input_shapes` describes the inputs"));
  all.push_back(source("kernel",
                       "source of the Python module with the Triton kernels and the function that launches "
                       "them: triton_kernel_wrapper, ModelNew, or a function with the reference's name"));
  if (parts.root != nullptr) {
    const std::string from = fmt::format("below {}", parts.root->path().string());
    all.push_back(path("reference_path", fmt::format("instead of `reference`: a file {}", from)));
    all.push_back(path("kernel_path", fmt::format("instead of `kernel`: a file {}", from)));
  }
  if (parts.tasks != nullptr)
    all.push_back({.name = "task_id", .description = "instead of `reference`: a task of `list_tasks`"});
  all.push_back({.name = "input_shapes",
                 .kind = Kind::object,
                 .description = "inputs of a reference without get_inputs, in the order of its parameters: "
                                R"({"x": {"shape": [4, 8], "dtype": "float32"}})"});
  all.push_back({.name = "entry_point", .description = "class or function of the reference, if several fit"});
  all.push_back({.name = "kernel_entry", .description = "class or function of the kernel, if several fit"});
  all.push_back({.name = "options",
                 .kind = Kind::object,
                 .description = "options of judging that replace those of the server",
                 .properties = options_schema()});
  all.push_back({.name = "full",
                 .kind = Kind::flag,
                 .description = "true: the structured result also has every field of the verdict [false]"});
  return all;
}

// "--kernel-entry NAME" as a flag of the command line names it, in the words of the arguments.
std::string in_our_words(std::string text) {
  struct Words {
    std::string_view flag;
    std::string_view argument;
  };
  for (const auto& [flag, argument] :
       {Words{"--entry-point ", "entry_point: "}, Words{"--kernel-entry ", "kernel_entry: "},
        Words{"--entry-point", "entry_point"}, Words{"--kernel-entry", "kernel_entry"},
        Words{"the order is REFERENCE KERNEL: swap", "swap"}})
    for (std::size_t at = text.find(flag); at != text.npos; at = text.find(flag, at + argument.size()))
      text.replace(at, flag.size(), argument);
  return text;
}

Result<Job> in_our_words(Result<Job> job) {
  if (job) return job;
  return fail(in_our_words(job.error().what), in_our_words(job.error().remedy));
}

class VerifyTool : public Tool {
 public:
  explicit VerifyTool(const VerifyParts& parts) : parts_(parts), arguments_("verify", arguments_of(parts)) {
    description_ = {
        .name = "verify",
        .title = "Verify a Triton kernel",
        .text =
            "Judges a Triton kernel against its PyTorch reference on secret random inputs, in a sandbox: "
            "whether it computes the same, whether the result counts (a kernel that does no work of its "
            "own does not), and on a GPU how fast it is. Answers with the verdict in short, the source "
            "line of a fault, and what usually helps. Takes seconds; the first call also starts PyTorch.",
        .input_schema = arguments_.schema(),
        .output_schema = verdict_answer_schema()};
  }

  ~VerifyTool() override { parser_.close(); }
  VerifyTool(const VerifyTool&) = delete;
  VerifyTool& operator=(const VerifyTool&) = delete;

  const Description& description() const override { return description_; }

  async::Task<std::optional<ToolAnswer>> call(json::object given, Call call) override {
    auto arguments = arguments_.read(given);
    if (!arguments) co_return tool_error(arguments.error());
    const bool is_full = bool_at(*arguments, "full").value_or(false);
    auto read =
        co_await async::within(async::Deadline::never(), call.stop.get(), read_job(std::move(*arguments)));
    if (!read.value) co_return std::nullopt;
    auto job = in_our_words(std::move(*read.value));
    if (!job) co_return tool_error(job.error());
    auto ready =
        co_await async::within(async::Deadline::never(), call.stop.get(), parts_.judge.ready(call.say));
    if (!ready.value) co_return std::nullopt;
    if (!*ready.value) co_return tool_error(ready.value->error());
    auto verdict = co_await judged(**ready.value, std::make_shared<const Job>(*job), call);
    if (!verdict) co_return std::nullopt;
    co_return answer_with(*verdict, *job, {.min_trust = parts_.min_trust, .full = is_full}, *call.verdicts);
  }

 private:
  // One judging, shared by the call and the coroutine that judges.
  struct Judging {
    explicit Judging(async::Loop& loop) : done(loop) {}
    async::Event done;
    std::optional<Verdict> verdict;
    std::exception_ptr thrown;
  };

  static async::Task<> judge(std::shared_ptr<Judging> judging, verify::SharedVerifier* verifier,
                             std::shared_ptr<const Job> job, std::shared_ptr<async::Stop> stop) {
    judging->verdict = co_await verifier->verify(*job, *stop);
  }

  // The loop goes on until the work has ended, also after a stop: the next call finds its place free.
  async::Task<std::optional<Verdict>> judged(verify::SharedVerifier* verifier, std::shared_ptr<const Job> job,
                                             const Call& call) const {
    auto judging = std::make_shared<Judging>(call.loop);
    async::spawn(call.loop, judge(judging, verifier, std::move(job), call.stop),
                 [judging](const std::exception_ptr& thrown) {
                   judging->thrown = thrown;
                   judging->done.set();
                 });
    call.say("judging");
    const auto begin = async::SteadyClock::now();
    while (!judging->done.is_set()) {
      auto ended = co_await async::within(async::Deadline::in(parts_.beat), nullptr, judging->done.wait());
      if (ended) call.say(fmt::format("judging, {:.0f} s", async::ms_since(begin) / 1000));
    }
    if (judging->thrown) std::rethrow_exception(judging->thrown);
    co_return std::move(judging->verdict);
  }

  async::Task<Result<Job>> read_job(json::object arguments) {
    Job job;
    job.id = "kernel";
    if (auto read = read_kernel(arguments, job); !read) co_return std::unexpected(read.error());
    if (auto read = read_options(arguments, job); !read) co_return std::unexpected(read.error());
    auto task_id = string_at(arguments, "task_id");
    if (auto read = task_id ? co_await read_task(arguments, *task_id, job) : read_reference(arguments, job);
        !read)
      co_return std::unexpected(read.error());
    const bool is_completion = is_completion_file(string_at(arguments, "kernel_path").value_or(""));
    // Hostile sources take seconds to parse: the loop goes on meanwhile.
    co_return co_await parser_.result_of<Result<Job>>(
        [job = std::move(job), by_hand = !task_id.has_value(), is_completion] {
          return completed(job, by_hand, is_completion);
        });
  }

  static Result<Job> completed(Job job, bool by_hand, bool is_completion) {
    if (auto found = find_entries(job, {.by_hand = by_hand, .is_completion = is_completion}); !found)
      return std::unexpected(found.error());
    if (!by_hand) return job;
    job.task.task_id = hashed_task_id(job.task.reference_code, job.task.input_shapes, job.task.entry_point);
    if (auto named = check_shape_names(job.task, "input_shapes"); !named)
      return std::unexpected(named.error());
    return job;
  }

  // One of a text and a path.
  Result<std::string> read_source(const json::object& arguments, const std::string& name) const {
    auto text = string_at(arguments, name);
    auto file = string_at(arguments, name + "_path");
    const std::string choices =
        parts_.root == nullptr ? fmt::format("`{}`", name) : fmt::format("`{0}` or `{0}_path`", name);
    if (text && file)
      return fail(fmt::format("both `{0}` and `{0}_path` are given", name), "give one of them");
    if (!text && !file) return fail(fmt::format("there is no {}", name), fmt::format("give {}", choices));
    auto source = text ? Result<std::string>(std::move(*text)) : parts_.root->read(*file, most_source_bytes);
    if (source && trim(*source).empty())
      return fail(fmt::format("the {} is empty", name), "give Python source");
    return source;
  }

  Result<> read_kernel(const json::object& arguments, Job& job) const {
    auto code = read_source(arguments, "kernel");
    if (!code) return std::unexpected(code.error());
    auto file = string_at(arguments, "kernel_path");
    if (file) job.id = fs::path(*file).stem().string();
    job.candidate.code = file && is_completion_file(*file) ? extract_code(*code) : std::move(*code);
    job.candidate.entry = string_at(arguments, "kernel_entry").value_or("");
    return {};
  }

  static Result<> read_options(const json::object& arguments, Job& job) {
    const json::object* given = object_at(arguments, "options");
    if (given == nullptr) return {};
    auto options = read_job_options(*given);
    if (!options) {
      std::string names;
      for (const Option* option : job_option_table())
        names += fmt::format("{}{}", names.empty() ? "" : ", ", option->name());
      return fail(fmt::format("options.{} {}", options.error().field, options.error().why),
                  fmt::format("the options are: {}", names));
    }
    job.options = std::move(*options);
    return {};
  }

  Result<> read_reference(const json::object& arguments, Job& job) const {
    auto code = read_source(arguments, "reference");
    if (!code) return std::unexpected(code.error());
    job.task.source = "mcp";
    job.task.reference_code = std::move(*code);
    job.task.entry_point = string_at(arguments, "entry_point").value_or("");
    if (const json::object* shapes = object_at(arguments, "input_shapes")) {
      if (auto good = check_input_shapes(json::value(*shapes)); !good) return good;
      job.task.input_shapes = json::serialize(*shapes);
    }
    return {};
  }

  async::Task<Result<>> read_task(const json::object& arguments, const std::string& id, Job& job) const {
    for (const char* other : {"reference", "reference_path", "input_shapes", "entry_point"})
      if (arguments.contains(other))
        co_return fail(fmt::format("`{}` is given beside `task_id`", other),
                       "leave it out: the task has its own");
    auto task = co_await parts_.tasks->find(id);
    if (!task) co_return std::unexpected(task.error());
    job.task = **task;
    co_return Result<>();
  }

  VerifyParts parts_;
  Arguments arguments_;
  Description description_;
  async::Workbench parser_;
};

}  // namespace

std::unique_ptr<Tool> verify_tool(const VerifyParts& parts) {
  return std::make_unique<VerifyTool>(parts);
}

}  // namespace kw::mcp
