#include "loop/exports/harbor.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <sstream>
#include <system_error>

#include "base/core/files.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "base/core/toml.h"
#include "loop/exports/harbor_files.h"
#include "loop/exports/harbor_names.h"
#include "types/trace.h"

namespace kw::exports {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr const char* candidate_path = "/app/kernel.py";
constexpr double agent_timeout_s = 3600;
constexpr double verifier_timeout_s = 1800;
constexpr double client_wait_s = 1740;  // within the verifier's time, so that the client says why it gives up
constexpr double build_timeout_s = 1800;  // PyTorch is downloaded
constexpr std::int64_t client_memory_mb = 512;

// The versions of the images that `deploy` builds: docs/scale.md.
constexpr const char* cpu_environment =
    R"(# Python with PyTorch and Triton, whose interpreter runs kernels on the CPU.
FROM python:3.12-slim
RUN pip install --no-cache-dir --index-url https://download.pytorch.org/whl/cpu torch==2.11.0 \
 && pip install --no-cache-dir triton==3.6.0 numpy==2.3.5
ENV TRITON_INTERPRET=1
WORKDIR /app
)";
constexpr const char* client_image = "python:3.12-slim";

// TOML has no null, and a text of a task may contain anything.
void add(toml::table& table, std::string_view key, std::string_view text) {
  if (!text.empty()) table.insert(key, to_plain_text(text));
}

// What a service says of its tasks, too: no path of this machine, and no part that is hidden.
toml::table metadata_of(const HarborTask& task, const HarborOptions& options) {
  toml::table made;
  add(made, "task_id", task.task.task_id);
  add(made, "task_version", task.version);
  add(made, "source", task.task.source);
  add(made, "sample_key", sample_key(task.task));
  add(made, "name", task.task.name);
  add(made, "level", task.task.level);
  add(made, "problem_id", task.task.problem_id);
  add(made, "licence", task.task.licence);
  add(made, "repo", task.task.repo);
  add(made, "prompt_style", options.prompt_style);
  return made;
}

toml::table verifier_of(const HarborOptions& options) {
  toml::table env{{"KERNELWRIGHT_WAIT_S", fmt::format("{:g}", client_wait_s)}};
  toml::table environment;
  if (options.judge == HarborJudge::service) {
    env.insert("KERNELWRIGHT_EVALUATOR", "${KERNELWRIGHT_EVALUATOR}");
    env.insert("KERNELWRIGHT_EVALUATOR_KEY", "${KERNELWRIGHT_EVALUATOR_KEY:-}");
    environment.insert("network_mode", "public");
    environment.insert("memory_mb", client_memory_mb);
  } else {
    environment.insert("network_mode", "no-network");
    if (options.gpus > 0) environment.insert("gpus", options.gpus);
  }
  return toml::table{{"timeout_sec", verifier_timeout_s},
                     {"environment_mode", "separate"},
                     {"env", std::move(env)},
                     {"environment", std::move(environment)}};
}

std::string task_toml(const HarborTask& task, const std::string& name, const HarborOptions& options) {
  toml::table environment{{"build_timeout_sec", build_timeout_s}};
  if (options.gpus > 0) environment.insert("gpus", options.gpus);
  toml::table all{{"schema_version", "1.4"},
                  {"artifacts", toml::array{candidate_path}},
                  {"task", toml::table{{"name", fmt::format("{}/{}", options.org, name)},
                                       {"version", task.version},
                                       {"description", "Replace a PyTorch reference by a Triton kernel."},
                                       {"keywords", toml::array{"triton", "pytorch", "gpu-kernels"}}}},
                  {"metadata", metadata_of(task, options)},
                  {"agent", toml::table{{"timeout_sec", agent_timeout_s}}},
                  {"verifier", verifier_of(options)},
                  {"environment", std::move(environment)}};
  std::ostringstream text;
  // Plain strings: a literal or multi-line one would take its form from the task's text.
  text << toml::toml_formatter(all, toml::format_flags::none) << "\n";
  return text.str();
}

std::string instruction_of(const HarborTask& task) {
  return fmt::format(
      "# Write a Triton kernel\n"
      "Replace the PyTorch reference below by a Python module with Triton kernels, and save the module as "
      "`{0}`.\n\n"
      "- `{0}` contains the module alone. It takes the place of the answer between `<triton>` and "
      "`</triton>` that the text below asks for.\n"
      "- Only this file is judged, once, after you have finished.\n\n---\n\n{1}",
      candidate_path, to_utf8(task.prompt));
}

// Harbor starts each container with a command that waits; an entry point of the image would take its place.
std::string environment_of(const HarborOptions& options) {
  return options.image.empty() ? cpu_environment
                               : fmt::format("FROM {}\nENTRYPOINT []\nWORKDIR /app\n", options.image);
}

// Harbor builds the verifier's container from tests/, and runs its /tests/test.sh.
std::string verifier_dockerfile(const HarborOptions& options) {
  return fmt::format("FROM {}\nENTRYPOINT []\nCOPY . /tests/\n",
                     options.verifier_image.empty() ? client_image : options.verifier_image.c_str());
}

// A row of a batch, as `serve --tasks` reads it.
std::string task_row(const Task& task) {
  json::object row{{"task_id", task.task_id}, {"reference_code", task.reference_code}};
  if (!task.entry_point.empty()) row["entry_point"] = task.entry_point;
  if (!task.input_shapes.empty()) {
    auto shapes = parse_json(task.input_shapes);
    row["input_shapes"] = shapes ? *shapes : json::value(task.input_shapes);
  }
  return json::serialize(row) + "\n";
}

bool is_script(std::string_view name) {
  return name.ends_with(".sh");
}

Result<> write_task(const HarborTask& task, const std::string& name, const fs::path& folder,
                    const HarborOptions& options) {
  for (const auto& [file, bytes] : harbor_files(task, name, options)) {
    fs::path path = folder / name / file;
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (error)
      return fail(fmt::format("cannot make the folder {}: {}", path.parent_path().string(), error.message()));
    if (auto written = write_file(path, bytes); !written) return written;
    if (!is_script(file)) continue;
    constexpr auto all = fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
    fs::permissions(path, all, fs::perm_options::add, error);
    if (error) return fail(fmt::format("cannot make {} executable: {}", path.string(), error.message()));
  }
  return {};
}

}  // namespace

bool is_image_name(std::string_view text) {
  return !text.empty() && text.size() <= 400 && is_letter_or_digit(text.front()) &&
         std::ranges::all_of(
             text, [](char c) { return is_word(c) || is_one_of({&c, 1}, {".", "-", "/", ":", "@"}); });
}

std::vector<std::pair<std::string, std::string>> harbor_files(const HarborTask& task, const std::string& name,
                                                              const HarborOptions& options) {
  json::object asked{{"task_id", task.task.task_id}, {"task_version", task.version}};
  if (options.gradients) asked["options"] = json::object{{"backward", true}};
  std::vector<std::pair<std::string, std::string>> files = {
      {"task.toml", task_toml(task, name, options)},
      {"instruction.md", instruction_of(task)},
      {"environment/Dockerfile", environment_of(options)},
      {"tests/Dockerfile", verifier_dockerfile(options)},
      {"tests/test.sh", harbor_test_sh},
      {"tests/judge.py", harbor_judge_py},
      {"tests/task.json", json::serialize(asked) + "\n"}};
  if (options.judge == HarborJudge::local) files.emplace_back("tests/tasks.jsonl", task_row(task.task));
  if (!task.solution.empty()) {
    files.emplace_back("solution/solve.sh", harbor_solve_sh);
    files.emplace_back("solution/kernel.py", task.solution);
  }
  return files;
}

Result<> write_harbor(const std::vector<HarborTask>& tasks, const fs::path& folder,
                      const HarborOptions& options) {
  std::vector<std::string> ids;
  for (const HarborTask& task : tasks) ids.push_back(task.task.task_id);
  auto names = harbor_names(ids);
  if (!names) return std::unexpected(names.error());
  for (std::size_t at = 0; at < tasks.size(); ++at)
    if (auto written = write_task(tasks[at], (*names)[at], folder, options); !written) return written;
  return {};
}

}  // namespace kw::exports
