#include "schema/card.h"

#include <fmt/format.h>

#include <set>

#include "dataset/analysis_words.h"

namespace kw::dataset {
namespace {

std::string licences(const Counts& counts) {
  std::set<std::string> ids;
  for (const auto& [spdx, count] : counts) ids.insert(hub_licence(spdx));
  if (ids.empty()) ids.insert("other");
  std::string text = "license:\n";
  for (const std::string& id : ids) text += fmt::format("- {}\n", yaml_text(id));
  return text;
}

std::string data_files(const std::vector<CardConfig>& configs) {
  if (configs.empty()) return {};
  std::string text = "configs:\n";
  for (const CardConfig& config : configs) {
    text += fmt::format("- config_name: {}\n  data_files:\n", yaml_text(config.name));
    for (const auto& [split, path] : config.files)
      text += fmt::format("  - split: {}\n    path: {}\n", yaml_text(split), yaml_text(path));
  }
  return text;
}

std::string front_matter(const Facts& facts, const std::vector<CardConfig>& configs) {
  return fmt::format(
      "---\n{}language:\n- code\ntask_categories:\n- text-generation\ntags:\n- triton\n- cuda\n- "
      "gpu-kernels\n"
      "size_categories:\n- {}\n{}---\n",
      licences(facts.rows.licences), size_category(facts.rows.rows), data_files(configs));
}

std::string_view about(const std::string& config) {
  if (config == "fim")
    return "the prompt is the code around a hole in a kernel, the completion what belongs there";
  if (config == "cu2triton") return "the prompt is a CUDA function, the completion its Triton rewrite";
  if (config == "torch2triton") return "the prompt is a PyTorch module, the completion Triton code for it";
  if (config == "trace") return "the prompt is a task, the completion a model's answer that was judged";
  return "prompt and completion";
}

std::string usage(const std::vector<CardConfig>& configs) {
  if (configs.empty()) return {};
  std::string text = "\n";
  for (const CardConfig& config : configs)
    text += fmt::format("- `{}`: {}\n", table_cell(config.name), about(config.name));
  return text +
         fmt::format("\n```python\nimport datasets\nrows = datasets.load_dataset(\"FOLDER\", {})\n```\n",
                     yaml_text(configs.front().name));
}

constexpr std::string_view columns =
    "\n## Columns\n\n`prompt` and `completion` are the texts. Beside them: `source_*` and `block_*` (source, "
    "path, "
    "bytes), `licence` with `licence_evidence`, `duplicate_of`, `cluster`, `leakage` (what the row "
    "resembles, "
    "with spans), `compile` and what the kernel does (`masked_loads`, `autotune` and others), `tokens`, "
    "`split`, "
    "`hole_*` of holes, `pair_*` of pairs, and `verdict` of traces, a JSON text.\n";

}  // namespace

std::string card(const Facts& facts, const std::vector<CardConfig>& configs) {
  const RowFacts& rows = facts.rows;
  std::string text = front_matter(facts, configs);
  text += fmt::format(
      "# GPU kernels to train on\n\n{} rows ({}) from {} sources, made by Kernelwright {} from source code, "
      "with "
      "duplicates left out, licences recorded and copies of benchmarks flagged.\n",
      grouped(rows.rows), in_words(rows.kinds), facts.sources.size(), table_cell(facts.program));
  text += usage(configs);
  text += columns;
  text +=
      "\n## Licences\n\nEach row is under the licence of the file that it was taken from, with that "
      "licence's terms.\n";
  text += shares("licence", rows.licences, rows.rows) + "\n## Sources\n";
  text += shares("source", rows.sources, rows.rows);
  if (!rows.leaks.empty())
    text += fmt::format("\n## Flags\n\nThese rows are in the data; leave them out where it matters: {}.\n",
                        in_words(rows.leaks));
  return text + "\nMore: ANALYSIS.md has numbers, PROVENANCE.md the sources, figs/ the pictures.\n";
}

}  // namespace kw::dataset
