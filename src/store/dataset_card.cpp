#include <fmt/format.h>

#include "schema/card.h"
#include "store/training_files.h"

namespace kw::store {
namespace {

// Of several licences none is that of all.
std::string licence_of_all(const Tally& tally) {
  return tally.licences.size() == 1 ? hub_licence(tally.licences.begin()->first) : "other";
}

struct Column {
  std::string_view name;
  std::string_view type;  // empty: a list of messages
};

std::vector<Column> columns_of(Format format) {
  std::vector<Column> columns;
  if (format == Format::messages) columns = {{"messages", ""}};
  if (format == Format::prompt_completion) columns = {{"prompt", ""}, {"completion", ""}};
  if (format == Format::preference) columns = {{"prompt", ""}, {"chosen", ""}, {"rejected", ""}};
  for (Column each : std::initializer_list<Column>{{"task_id", "string"},
                                                   {"source", "string"},
                                                   {"licence", "string"},
                                                   {"repo", "string"},
                                                   {"sample_key", "string"},
                                                   {"sample_number", "int64"},
                                                   {"round", "int64"},
                                                   {"turn", "int64"},
                                                   {"model", "string"},
                                                   {"correctness", "bool"},
                                                   {"counts", "bool"},
                                                   {"speedup", "float64"},
                                                   {"trust", "string"}})
    columns.push_back(each);
  if (format == Format::preference)
    for (Column each : std::initializer_list<Column>{{"rejected_round", "int64"},
                                                     {"rejected_turn", "int64"},
                                                     {"rejected_correctness", "bool"},
                                                     {"rejected_speedup", "float64"}})
      columns.push_back(each);
  return columns;
}

// The types of all columns, so that a loader need not guess them from the first rows.
std::string features(const TrainingOptions& options) {
  if (options.format == Format::traces) return {};
  bool key =
      options.reasoning == ReasoningKey::reasoning_content || options.reasoning == ReasoningKey::thinking;
  std::string text = "dataset_info:\n  features:\n";
  for (const Column& column : columns_of(options.format)) {
    text += fmt::format("  - name: {}\n", column.name);
    if (!column.type.empty()) {
      text += fmt::format("    dtype: {}\n", column.type);
      continue;
    }
    text += "    list:\n    - name: role\n      dtype: string\n    - name: content\n      dtype: string\n";
    if (key && column.name != "prompt")
      text += fmt::format("    - name: {}\n      dtype: string\n", to_string(options.reasoning));
  }
  return text;
}

std::string front_matter(const std::string& file_name, const TrainingOptions& options, const Tally& tally) {
  return fmt::format(
      "---\nlicense: {}\ntags:\n- triton\n- gpu-kernels\nsize_categories:\n- {}\nconfigs:\n"
      "- config_name: default\n  data_files: {}\n{}---\n",
      yaml_text(licence_of_all(tally)), size_category(tally.rows), yaml_text(file_name), features(options));
}

std::string_view columns(Format format) {
  switch (format) {
    case Format::messages:
      return "`messages`: the conversation, a list of messages. Chat templates mostly render the reasoning "
             "of the "
             "last answer only";
    case Format::prompt_completion:
      return "`prompt` and `completion`: lists of messages; the completion is what is to be learnt";
    case Format::preference:
      return "`prompt`, `chosen`, `rejected`: lists of messages. Both answers stand after the first prompt, "
             "also where the model gave them after feedback";
    case Format::traces:
      break;
  }
  return "one recorded trace a row";
}

std::string made_with(const TrainingOptions& o) {
  std::string text = fmt::format("Format `{}`", to_string(o.format));
  if (o.format == Format::messages || o.format == Format::prompt_completion)
    text += fmt::format(", a row a {}", to_string(o.unit));
  if (o.format != Format::traces) text += fmt::format(", reasoning `{}`", to_string(o.reasoning));
  text += fmt::format(", filter `{}`", to_string(o.filter));
  if (o.min_trust) text += fmt::format(", trust at least `{}`", to_string(*o.min_trust));
  if (o.best_only) text += ", the best turn of each trace only";
  if (o.max_bytes) text += fmt::format(", rows of at most {} bytes", *o.max_bytes);
  return text + (o.include_benchmarks ? ", benchmark tasks included." : ", benchmark tasks left out.");
}

}  // namespace

std::string dataset_card(const std::string& file_name, const TrainingOptions& options, const Tally& tally,
                         const std::string& program_version) {
  std::string text = front_matter(file_name, options, tally);
  text += fmt::format(
      "# {}\n\nKernels that a model wrote for PyTorch modules, each judged by Kernelwright {} against its "
      "reference. \"Correct\" here means correct and counting: where a right answer proves nothing, it does "
      "not "
      "count.\n\n{}\n\n- {}\n- `task_id`, `source`, `licence`, `repo`: of the task; the answers are a "
      "model's\n"
      "\n{} rows from {} traces",
      table_cell(file_name), program_version, made_with(options), columns(options.format), tally.rows,
      tally.traces);
  std::string left_out = left_out_in_words(tally);
  text += left_out.empty() ? ".\n" : fmt::format("; left out: {}.\n", left_out);
  text += counts_table("rows by source", tally.sources);
  text += counts_table("rows by licence of the task", tally.licences);
  text += counts_table("rows by model", tally.models);
  return text;
}

}  // namespace kw::store
