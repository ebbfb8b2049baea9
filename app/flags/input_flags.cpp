#include "flags/input_flags.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "flags/parse.h"
#include "tasks/open.h"
#include "tasks/row_task.h"
#include "tasks/sources.h"

namespace kw {

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
  app.add_option("PATH", paths, "REFERENCE KERNEL, or one file or folder, which is recognised")
      ->expected(0, 2);
  add_parsed<std::string>(app, "--input-shapes", input_shapes, parse_input_shapes,
                          R"(of a function pair: {"x": {"shape": [4, 8], "dtype": "float32"}}, or @FILE)")
      ->type_name("JSON")
      ->group(group);
  auto text = [&](const std::string& flag, std::string& target, const char* type, const std::string& help) {
    app.add_option(flag, target, help)->type_name(type)->group(group);
  };
  text("--entry-point", entry_point, "NAME", "class or function of the reference [recognised]");
  text("--kernel-name", kernel_name, "NAME", "what to call the kernel in its verdict");
  text("--batch", batch, "F", "JSON lines of references and kernels");
  text("--traces", traces, "F", "recorded traces");
  text("--kernelbench", kernelbench, "DIR", "KernelBench's tasks: a checkout, JSONL or Parquet");
  text("--kernelbench-run", kernelbench_run, "DIR", "a KernelBench run folder, judged with --kernelbench");
  text("--kernelbook", kernelbook, "F", "KernelBook rows, JSONL or Parquet");
}

Result<std::unique_ptr<JobSource>> InputFlags::open(const ParquetHelper& helper) const {
  OpenOptions options{helper, kernelbench, {}};
  std::vector<std::pair<std::string, std::optional<InputKind>>> named;
  if (paths.size() == 1) named.emplace_back(paths.front(), std::nullopt);
  if (!batch.empty()) named.emplace_back(batch, InputKind::batch);
  if (!traces.empty()) named.emplace_back(traces, InputKind::traces);
  if (!kernelbench_run.empty()) named.emplace_back(kernelbench_run, InputKind::kernelbench_run);
  if (!kernelbook.empty()) named.emplace_back(kernelbook, InputKind::kernelbook);

  if (is_pair() && named.empty()) {
    auto job = read_pair(paths[0], paths[1], {input_shapes, entry_point, kernel_name});
    if (!job) return std::unexpected(job.error());
    return list_source({std::move(*job)});
  }
  if (named.empty() && !kernelbench.empty())
    return fail("--kernelbench gives tasks, but no kernels", "give a run folder with --kernelbench-run DIR");
  if (named.size() + (is_pair() ? 1 : 0) != 1)
    return fail(
        named.empty() ? "nothing to judge was given" : "more than one thing to judge was given",
        "give REFERENCE KERNEL, one PATH, or one of --batch, --traces, --kernelbench-run, --kernelbook");
  options.kind = named.front().second;
  return open_source(named.front().first, options);
}

}  // namespace kw
