#include "flags/source_flags.h"

#include <fmt/format.h>

#include "flags/parse.h"
#include "tasks/open_tasks.h"

namespace kw {
namespace {

Result<std::uint64_t> parse_samples(const std::string& text) {
  return parse_whole(text, 0, 1'000'000'000);
}

Result<std::optional<std::uint64_t>> parse_limit(const std::string& text) {
  auto count = parse_whole(text, 1, UINT64_MAX);
  if (!count) return std::unexpected(count.error());
  return *count;
}

// A flag whose value may be left out: then it is "hub".
void add_hub_flag(CLI::App& app, const std::string& flag, std::string& target, const char* type,
                  const std::string& help) {
  app.add_option_function<std::vector<std::string>>(
         flag,
         [&target](const std::vector<std::string>& words) {
           target = words.empty() || words.front().empty() ? "hub" : words.front();
         },
         help)
      ->expected(0, 1)
      ->type_name(type)
      ->group("Tasks");
}

}  // namespace

Result<std::set<int>> parse_levels(const std::string& text) {
  std::set<int> levels;
  for (std::size_t at = 0; at <= text.size();) {
    std::size_t end = std::min(text.find(',', at), text.size());
    auto level = parse_whole(text.substr(at, end - at), 1, 4);
    if (!level) return fail(fmt::format("\"{}\" is not a list of levels from 1 to 4, like 1,2", text));
    levels.insert(static_cast<int>(*level));
    at = end + 1;
  }
  return levels;
}

void SourceFlags::add(CLI::App& app) {
  const std::string group = "Tasks";
  app.add_option("PATH", paths,
                 "tasks: references (.py, or a folder), a batch, traces, KernelBook, KernelBench; recognised "
                 "[KernelBook and KernelBench from the hub]");
  add_hub_flag(app, "--kernelbook", kernelbook, "FILE|hub",
               "KernelBook: Parquet, JSONL, hub or hub@REVISION");
  add_hub_flag(app, "--kernelbench", kernelbench, "DIR|FILE|hub",
               "KernelBench: a checkout, Parquet, JSONL, hub or hub@REVISION");
  add_parsed<std::uint64_t>(app, "--kernelbook-samples", kernelbook_samples, parse_samples,
                            "tasks of KernelBook, 0 for none [1500]")
      ->type_name("N")
      ->group(group);
  add_parsed<std::uint64_t>(app, "--kernelbench-samples", kernelbench_samples, parse_samples,
                            "tasks of KernelBench, evenly over its levels, 0 for none [1000]")
      ->type_name("N")
      ->group(group);
  add_parsed<std::set<int>>(app, "--levels", levels, parse_levels, "of KernelBench, like 1,2 [all]")
      ->type_name("L,...")
      ->group(group);
  app.add_option("--traces", traces, "the tasks of recorded traces")->type_name("FILE")->group(group);
  app.add_flag("--shuffle", shuffle, "sample and order at random, by --seed")->group(group);
  app.add_option("--sample-id", sample_ids, "only these, like kernelbench_19 or kernelbench/1/19")
      ->type_name("ID")
      ->delimiter(',')
      ->group(group);
  add_parsed<std::optional<std::uint64_t>>(app, "--limit", limit, parse_limit, "only the first N tasks")
      ->type_name("N")
      ->group(group);
}

Result<std::unique_ptr<TaskSource>> SourceFlags::open(const ParquetHelper& helper, std::uint64_t seed) const {
  SourceOptions options;
  options.paths = paths;
  options.kernelbook = kernelbook;
  options.kernelbench = kernelbench;
  options.traces = traces;
  options.kernelbook_samples = kernelbook_samples;
  options.kernelbench_samples = kernelbench_samples;
  options.levels = levels;
  options.sample_ids = sample_ids;
  options.shuffle = shuffle;
  options.seed = seed;
  options.limit = limit;
  return open_tasks(options, helper);
}

}  // namespace kw
