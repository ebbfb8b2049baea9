#include "tasks/kernelbench_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>

#include "base/files.h"
#include "schema/json.h"

namespace kw {
namespace json = boost::json;
namespace fs = std::filesystem;
namespace {

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
  // -1 is KernelBench's word for a time that was not taken.
  return {{"sample_id", result.sample_id},
          {"compiled", compiled(v)},
          {"correctness", v.status == Status::correct},
          {"metadata", std::move(metadata)},
          {"runtime", v.kernel_time_ms.value_or(-1.0)},
          {"runtime_stats", stats_of(v.timing.kernel_samples_ms)}};
}

// What an earlier run left; a file that is not ours to read is replaced.
json::object earlier_results(const fs::path& path) {
  auto text = read_text_file(path);
  if (!text) return {};
  auto value = parse_json(*text);
  return value && value->is_object() ? value->get_object() : json::object();
}

void put(json::object& file, const KernelBenchResult& result) {
  json::value& samples = file[fmt::format("{}", result.problem_id)];
  if (!samples.is_array()) samples = json::array();
  for (json::value& sample : samples.get_array()) {
    if (!sample.is_object() || number_at(sample.get_object(), "sample_id") != result.sample_id) continue;
    sample = entry_of(result);
    return;
  }
  samples.get_array().push_back(entry_of(result));
}

}  // namespace

bool compiled(const Verdict& v) {
  if (v.error_class == ErrorClass::compile_error || v.error_class == ErrorClass::syntax_error) return false;
  return v.stage >= Stage::run;
}

Result<> write_kernelbench_results(const std::string& run_folder,
                                   const std::vector<KernelBenchResult>& results) {
  std::set<int> levels;
  for (const KernelBenchResult& result : results) levels.insert(result.level);
  for (int level : levels) {
    fs::path path =
        fs::path(run_folder) /
        (levels.size() == 1 ? "eval_results.json" : fmt::format("eval_results_level_{}.json", level));
    json::object file = earlier_results(path);
    for (const KernelBenchResult& result : results)
      if (result.level == level) put(file, result);
    if (auto written = write_file(path, json::serialize(file) + "\n"); !written) return written;
  }
  return {};
}

}  // namespace kw
