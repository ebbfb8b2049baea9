#include "options/input_flags.h"

#include <fmt/format.h>

#include "base/core/files.h"
#include "base/core/standard_input.h"
#include "base/core/text.h"
#include "loop/tasks/formats.h"
#include "loop/tasks/readers.h"
#include "options/parse.h"
#include "types/job.h"

namespace kw {
namespace {

Result<std::uint64_t> parse_samples(const std::string& text) {
  return parse_whole(text, 0, 1'000'000'000);
}

// Adds a flag with an optional value; the default value is "hub".
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
                 "tasks: references (.py, or a folder), a batch, traces, KernelBook or KernelBench; the kind "
                 "is recognised [KernelBook and KernelBench from the hub]");
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
  add_parsed<std::set<int>>(app, "--levels", levels, parse_levels, "levels of KernelBench, like 1,2 [all]")
      ->type_name("L,...")
      ->group(group);
  app.add_option("--traces", traces, "recorded traces that contain the tasks")
      ->type_name("FILE")
      ->group(group);
  app.add_flag("--shuffle", shuffle, "sample and order the tasks at random, by --seed")->group(group);
  app.add_option("--sample-id", sample_ids, "only these tasks, like kernelbench_19 or kernelbench/1/19")
      ->type_name("ID")
      ->delimiter(',')
      ->group(group);
  add_parsed<std::optional<std::uint64_t>>(app, "--limit", limit, parse_limit, "only the first N tasks")
      ->type_name("N")
      ->group(group);
}

Result<std::string> parse_input_shapes(const std::string& text) {
  std::string json = text;
  if (text.starts_with('@')) {
    auto file = read_text_file(text.substr(1));
    if (!file) return std::unexpected(file.error());
    json = trim(*file);
  }
  if (auto good = check_input_shapes(json); !good)
    return fail(fmt::format("{}; {}", good.error().what, good.error().remedy));
  return json;
}

void InputFlags::add(CLI::App& app) {
  const std::string group = "Input";
  app.add_option(
         "PATH", paths,
         "a reference and a kernel, or one file or folder; its kind is recognised. - is standard input")
      ->expected(0, 2);
  add_parsed<std::string>(
      app, "--input-shapes", input_shapes, parse_input_shapes,
      R"(input shapes of a pair whose reference has no get_inputs: {"x": {"shape": [4, 8], "dtype": "float32"}}, or @FILE)")
      ->type_name("JSON")
      ->group(group);
  auto text = [&](const std::string& flag, std::string& target, const char* type, const std::string& help) {
    app.add_option(flag, target, help)->type_name(type)->group(group);
  };
  text("--entry-point", entry_point, "NAME",
       "class or function of the reference [Model, the last module or reference_impl; else its only public "
       "one, or the one called as the kernel's]");
  text("--kernel-entry", kernel_entry, "NAME",
       "class or function of the kernel [ModelNew, triton_kernel_wrapper or NAMENew; else the one called as "
       "the reference's, or its only public one]");
  text("--kernel-name", kernel_name, "NAME", "name of the kernel in its verdict");
  text("--batch", batch, "F", "JSON lines of references and kernels");
  text("--traces", traces, "F", "recorded traces");
  text("--kernelbench", kernelbench, "DIR",
       "KernelBench's tasks: a checkout, JSONL or Parquet; PATH may be a folder of kernels like 19_ReLU.py");
  text("--kernelbench-run", kernelbench_run, "DIR", "a KernelBench run folder, judged with --kernelbench");
  text("--kernelbook", kernelbook, "F", "KernelBook rows, JSONL or Parquet");
}

std::vector<std::pair<std::string, std::optional<InputKind>>> InputFlags::named() const {
  std::vector<std::pair<std::string, std::optional<InputKind>>> named;
  if (paths.size() == 1) named.emplace_back(paths.front(), std::nullopt);
  if (!batch.empty()) named.emplace_back(batch, InputKind::batch);
  if (!traces.empty()) named.emplace_back(traces, InputKind::traces);
  if (!kernelbench_run.empty()) named.emplace_back(kernelbench_run, InputKind::kernelbench_run);
  if (!kernelbook.empty()) named.emplace_back(kernelbook, InputKind::kernelbook);
  return named;
}

Result<> InputFlags::check() const {
  auto sources = named();
  if (sources.empty() && !is_pair() && !kernelbench.empty())
    return fail("--kernelbench gives tasks, but no kernels",
                "give a run folder with --kernelbench-run DIR, or a folder of kernels like 19_ReLU.py");
  if (sources.size() + (is_pair() ? 1 : 0) != 1)
    return fail(
        sources.empty() ? "nothing to judge was given" : "more than one thing to judge was given",
        "give REFERENCE KERNEL, one PATH, or one of --batch, --traces, --kernelbench-run, --kernelbook");
  if (is_pair() && is_standard_input(paths[0]) && is_standard_input(paths[1]))
    return fail("both the reference and the kernel are \"-\", standard input", "give a file for one of them");
  if (is_pair()) return {};
  for (const auto& [flag, value] :
       {std::pair{"--input-shapes", &input_shapes}, std::pair{"--entry-point", &entry_point},
        std::pair{"--kernel-entry", &kernel_entry}, std::pair{"--kernel-name", &kernel_name}})
    if (!value->empty())
      return fail(fmt::format("{} belongs to a pair, and no pair was given", flag),
                  "give REFERENCE KERNEL, or leave the flag out");
  return {};
}

std::expected<SourcePtr, InputError> InputFlags::open_pair() const {
  auto job = read_pair(paths[0], paths[1], {input_shapes, entry_point, kernel_name, kernel_entry});
  if (!job) return std::unexpected(InputError{job.error()});
  if (auto good = name_pair(*job, paths[0], paths[1], true, "--input-shapes"); !good)
    return std::unexpected(InputError{good.error(), true});
  return job_list({std::move(*job)});
}

std::expected<SourcePtr, InputError> InputFlags::open(const ParquetHelper& helper) const {
  if (auto good = check(); !good) return std::unexpected(InputError{good.error(), true});
  if (is_pair()) return open_pair();
  auto [path, kind] = named().front();
  auto source = open_source(path, {.helper = helper, .kernelbench = kernelbench, .kind = kind});
  if (!source) return std::unexpected(InputError{source.error()});
  return std::move(*source);
}

}  // namespace kw
