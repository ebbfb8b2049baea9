#include "loop/tasks/kernelbench_results.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "base/core/files.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "loop/tasks/kernelbench.h"
#include "types/job.h"

namespace kw {
namespace json = boost::json;
namespace fs = std::filesystem;
namespace {

std::optional<int> whole(std::string_view text) {
  int value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

json::object stats_of(const std::vector<double>& samples) {
  if (samples.empty()) return {};
  auto count = static_cast<double>(samples.size());
  double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
  double squares = 0;
  for (double sample : samples) squares += (sample - mean) * (sample - mean);
  auto [low, high] = std::ranges::minmax(samples);
  return {{"mean", mean},
          {"std", std::sqrt(squares / count)},
          {"min", low},
          {"max", high},
          {"num_trials", samples.size()}};
}

json::object entry_of(const KernelBenchResult& result) {
  const Verdict& v = result.verdict;
  json::object metadata{{"status", to_string(v.status)}, {"stage", to_string(v.stage)}};
  if (v.error) metadata["error"] = *v.error;
  if (v.error_class) metadata["error_class"] = to_string(*v.error_class);
  if (v.environment.gpu) metadata["hardware"] = *v.environment.gpu;
  if (v.speedup) metadata["speedup"] = *v.speedup;
  // KernelBench writes -1 for a time that was not measured.
  return {{"sample_id", result.sample_id},
          {"compiled", compiled(v)},
          {"correctness", v.status == Status::correct},
          {"metadata", std::move(metadata)},
          {"runtime", v.kernel_time_ms.value_or(-1.0)},
          {"runtime_stats", stats_of(v.timing.kernel_samples_ms)}};
}

// Whether the object has problems with samples. Old versions of KernelBench wrote one sample without a list.
bool has_results_form(const json::object& file) {
  auto is_sample = [](const json::value& value) {
    return value.is_object() && value.get_object().contains("correctness");
  };
  return std::ranges::all_of(file, [&](const auto& member) {
    const json::array* list = member.value().if_array();
    return whole(member.key()).has_value() &&
           (list ? std::ranges::all_of(*list, is_sample) : is_sample(member.value()));
  });
}

Result<json::object> results_in(const fs::path& path) {
  auto text = read_text_file(path);
  if (!text) return std::unexpected(text.error());
  auto value = parse_json(*text);
  if (!value) return std::unexpected(value.error());
  if (!value->is_object() || !has_results_form(value->get_object()))
    return fail(fmt::format("{} does not have the form of KernelBench's results", path.string()));
  return std::move(value->get_object());
}

fs::path free_name(const fs::path& path) {
  std::error_code ignored;
  int number = 1;
  auto named = [&] { return fs::path(fmt::format("{}.{}", path.string(), number)); };
  while (fs::exists(named(), ignored)) ++number;
  return named();
}

// The results of an earlier run. A file of another form is renamed, since it would be lost.
Result<json::object> earlier_results(const fs::path& path, std::vector<fs::path>& renamed) {
  std::error_code error;
  if (!fs::exists(path, error) || fs::file_size(path, error) == 0) return json::object();
  if (auto found = results_in(path)) return found;
  fs::path aside = free_name(path);
  fs::rename(path, aside, error);
  if (error)
    return fail(fmt::format("{} does not have the form of KernelBench's results, and cannot be renamed: {}",
                            path.string(), error.message()),
                "move it away");
  renamed.push_back(std::move(aside));
  return json::object();
}

void put(json::object& file, const KernelBenchResult& result) {
  json::value& samples = file[fmt::format("{}", result.problem_id)];
  if (samples.is_object()) samples = json::array{samples};
  if (!samples.is_array()) samples = json::array();
  for (json::value& sample : samples.get_array()) {
    if (number_at(sample.get_object(), "sample_id") != result.sample_id) continue;
    sample = entry_of(result);
    return;
  }
  samples.get_array().push_back(entry_of(result));
}

}  // namespace

std::optional<KernelBenchResult> kernelbench_place(std::string_view task_id, std::size_t sample_number) {
  constexpr std::string_view prefix = "kernelbench/";
  if (!task_id.starts_with(prefix)) return std::nullopt;
  task_id.remove_prefix(prefix.size());
  std::size_t slash = task_id.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  auto level = whole(task_id.substr(0, slash));
  auto problem = whole(task_id.substr(slash + 1));
  if (!level || !problem) return std::nullopt;
  return KernelBenchResult{*level, *problem, static_cast<int>(sample_number), {}};
}

bool compiled(const Verdict& v) {
  if (v.error_class == ErrorClass::compile_error || v.error_class == ErrorClass::syntax_error) return false;
  return v.stage >= Stage::run;
}

Result<std::vector<fs::path>> write_kernelbench_results(const std::string& run_folder,
                                                        const std::vector<KernelBenchResult>& results) {
  std::set<int> levels;
  for (const KernelBenchResult& result : results) levels.insert(result.level);
  std::vector<fs::path> renamed;
  for (int level : levels) {
    fs::path path =
        fs::path(run_folder) /
        (levels.size() == 1 ? "eval_results.json" : fmt::format("eval_results_level_{}.json", level));
    auto file = earlier_results(path, renamed);
    if (!file) return std::unexpected(file.error());
    for (const KernelBenchResult& result : results)
      if (result.level == level) put(*file, result);
    if (auto written = write_file(path, json::serialize(*file) + "\n"); !written)
      return std::unexpected(written.error());
  }
  return renamed;
}

namespace {

constexpr std::size_t head_bytes = 4096;

// Whether a file begins like {"19": so that large files of other forms are not read.
bool begins_with_a_problem(const fs::path& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string head(head_bytes, '\0');
  ssize_t n = fd ? ::read(fd.get(), head.data(), head.size()) : 0;
  std::string_view rest = trim(std::string_view(head).substr(0, n > 0 ? static_cast<std::size_t>(n) : 0));
  if (!rest.starts_with('{')) return false;
  rest = trim(rest.substr(1));
  if (!rest.starts_with('"')) return false;
  rest.remove_prefix(1);
  std::size_t quote = rest.find('"');
  return quote != std::string_view::npos && whole(rest.substr(0, quote)).has_value();
}

// The levels of the kernels beside a file of results.
std::set<int> levels_beside(const fs::path& path) {
  std::set<int> levels;
  std::error_code error;
  fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (auto kernel = run_kernel_of(entry.path().string())) levels.insert(kernel->level);
  return levels;
}

std::optional<int> level_of_results(const fs::path& path) {
  constexpr std::string_view prefix = "eval_results_level_";
  std::string stem = path.stem().string();
  if (stem.starts_with(prefix)) return whole(std::string_view(stem).substr(prefix.size()));
  std::set<int> levels = levels_beside(path);
  return levels.size() == 1 ? std::optional(*levels.begin()) : std::nullopt;
}

std::optional<double> time_at(const json::object& entry, std::string_view key) {
  auto time = number_at(entry, key);
  return time && std::isfinite(*time) && *time > 0 ? time : std::nullopt;
}

// The error of an entry: KernelBench has a key for each kind, whose value may be a list of texts.
std::optional<std::string> text_in(const json::object& metadata, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const json::value* value = metadata.if_contains(key);
    if (!value || value->is_null()) continue;
    return value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
  }
  return {};
}

void set_outcome(Verdict& verdict, const json::object& entry, const json::object& metadata) {
  const bool is_correct = bool_at(entry, "correctness").value_or(false);
  const bool is_compiled = bool_at(entry, "compiled").value_or(is_correct);
  verdict.stage = is_correct ? Stage::done : is_compiled ? Stage::judge : Stage::compile;
  verdict.status = is_correct ? Status::correct : Status::failed;
  if (is_correct) return;
  verdict.fault = Fault::kernel;
  verdict.error = text_in(metadata, {"error", "compilation_error", "runtime_error", "correctness_issue",
                                     "other_error", "cuda_error"});
  if (!is_compiled) {
    verdict.error_class = ErrorClass::compile_error;
  } else if (metadata.contains("correctness_issue")) {
    verdict.status = Status::incorrect;
    verdict.error_class = ErrorClass::wrong_value;
  } else if (metadata.contains("runtime_error")) {
    verdict.stage = Stage::run;
    verdict.error_class = ErrorClass::runtime_error;
  }
  // Entries that this program wrote say more.
  if (auto status = from_string<Status>(string_at(metadata, "status").value_or(""));
      status && *status != Status::correct)
    verdict.status = *status;
  if (auto stage = from_string<Stage>(string_at(metadata, "stage").value_or(""))) verdict.stage = *stage;
  if (auto why = from_string<ErrorClass>(string_at(metadata, "error_class").value_or("")))
    verdict.error_class = why;
  if (verdict.status == Status::skipped) verdict.fault.reset();
  if (verdict.status == Status::error) verdict.fault = Fault::infrastructure;
}

void set_times(Verdict& verdict, const json::object& entry, const json::object& metadata) {
  verdict.kernel_time_ms = time_at(entry, "runtime");
  verdict.reference_time_ms = time_at(entry, "ref_runtime");
  if (verdict.status == Status::correct) {
    verdict.speedup = time_at(metadata, "speedup");
    if (!verdict.speedup && verdict.kernel_time_ms && verdict.reference_time_ms)
      verdict.speedup = *verdict.reference_time_ms / *verdict.kernel_time_ms;
  }
  if (!verdict.speedup) verdict.timing.why_null = "the file of KernelBench has no time of the reference";
}

Result<Verdict> verdict_of(const json::value& value, const std::string& level, int problem) {
  if (!value.is_object()) return fail("a sample is not a JSON object");
  const json::object& entry = value.get_object();
  auto sample = count_at(entry, "sample_id");
  constexpr std::int64_t most = 1'000'000'000;
  if (!sample || *sample > most) return fail("a sample has no sample_id");
  if (!bool_at(entry, "correctness")) return fail(fmt::format("sample {} has no correctness", *sample));
  const json::value* found = entry.if_contains("metadata");
  const json::object none;
  const json::object& metadata = found && found->is_object() ? found->get_object() : none;
  Verdict verdict;
  verdict.task_id = kernelbench_task_id(level, fmt::format("{}", problem));
  verdict.id = fmt::format("level_{}_problem_{}_sample_{}", level, problem, *sample);
  verdict.sample_number = static_cast<std::size_t>(*sample);
  verdict.environment.gpu = text_in(metadata, {"hardware"});
  set_outcome(verdict, entry, metadata);
  set_times(verdict, entry, metadata);
  verdict.further["recorded_by"] = "kernelbench";
  return verdict;
}

}  // namespace

Result<std::optional<KernelBenchVerdicts>> read_kernelbench_results(const fs::path& path) {
  if (!begins_with_a_problem(path)) return std::nullopt;
  auto text = read_text_file(path);
  if (!text) return std::unexpected(text.error());
  auto file = parse_json(*text);
  if (!file) return fail(fmt::format("{}: {}", path.string(), file.error().what));
  if (!file->is_object() || !std::ranges::all_of(file->get_object(), [](const auto& member) {
        return whole(member.key()).has_value();
      }))
    return std::nullopt;
  auto number = level_of_results(path);
  std::string level = number ? fmt::format("{}", *number) : "?";
  KernelBenchVerdicts found;
  std::map<std::pair<int, std::size_t>, Verdict> sorted;
  for (const auto& [key, value] : file->get_object()) {
    int problem = *whole(key);
    const json::array samples = value.is_array() ? value.get_array() : json::array{value};
    for (const json::value& sample : samples) {
      auto verdict = verdict_of(sample, level, problem);
      if (verdict)
        sorted.insert_or_assign({problem, verdict->sample_number}, std::move(*verdict));
      else
        found.bad_rows.push_back(
            {path.string(), 0, fmt::format("problem {}: {}", problem, verdict.error().what), ""});
    }
  }
  for (auto& [place, verdict] : sorted) found.verdicts.push_back(std::move(verdict));
  return found;
}

}  // namespace kw
