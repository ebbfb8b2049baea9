#include "loop/run_store/training_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <set>

#include "base/core/counted.h"
#include "base/core/files.h"
#include "types/card.h"

namespace kw::store {
namespace {

namespace fs = std::filesystem;

// Collects rows, most of them in a temporary file, until the rows that must come first are known.
class Spool {
 public:
  explicit Spool(NewFile rest) : rest_(std::move(rest)) {}

  Result<> add(const TrainingRow& row) {
    std::size_t known = filled_.size();
    filled_.insert(row.filled.begin(), row.filled.end());
    if (filled_.size() > known) {
      front_.push_back(row.text);
      return {};
    }
    return rest_.write(row.text + "\n");
  }

  // Passes the rows to `take` in their final order.
  Result<> read(const std::function<Result<>(std::string_view)>& take) {
    if (auto flushed = rest_.flush(); !flushed) return flushed;
    for (const std::string& row : front_)
      if (auto taken = take(row); !taken) return taken;
    std::ifstream rest(rest_.neighbour(), std::ios::binary);
    std::string row;
    while (std::getline(rest, row))
      if (auto taken = take(row); !taken) return taken;
    if (rest.bad()) return fail(fmt::format("cannot read {}", rest_.neighbour().string()));
    return {};
  }

 private:
  NewFile rest_;  // never finished, so its destructor deletes it
  std::vector<std::string> front_;
  std::set<std::string> filled_;
};

Result<Tally> spool_rows(TraceReader& reader, const TrainingOptions& options, Spool& spool) {
  Tally tally;
  while (true) {
    auto trace = reader.next();
    if (!trace) return std::unexpected(trace.error());
    if (!*trace) return tally;
    for (const TrainingRow& row : training_rows(**trace, options, tally))
      if (auto added = spool.add(row); !added) return std::unexpected(added.error());
  }
}

Result<> write_rows(Spool& spool, const fs::path& path) {
  auto file = NewFile::create(path);
  if (!file) return std::unexpected(file.error());
  bool list = path.extension() == ".json";
  std::string_view before = list ? "[\n" : "";
  auto written = spool.read([&](std::string_view row) -> Result<> {
    if (auto begun = file->write(before); !begun) return begun;
    before = list ? ",\n" : "\n";
    return file->write(row);
  });
  if (!written) return written;
  if (auto ended = file->write(list ? "\n]\n" : "\n"); !ended) return ended;
  return file->finish();
}

}  // namespace

Result<Tally> write_training(TraceReader& reader, const fs::path& path, const TrainingOptions& options) {
  fs::path rest = path;
  auto file = NewFile::create(rest += ".rows");
  if (!file) return std::unexpected(file.error());
  Spool spool(std::move(*file));
  auto tally = spool_rows(reader, options, spool);
  if (!tally || tally->rows == 0) return tally;
  if (auto written = write_rows(spool, path); !written) return std::unexpected(written.error());
  return tally;
}

std::string left_out_in_words(const Tally& tally) {
  std::vector<std::pair<std::string, std::size_t>> reasons(tally.left_out.begin(), tally.left_out.end());
  if (tally.benchmarks > 0) reasons.emplace_back("of a benchmark", tally.benchmarks);
  std::ranges::sort(reasons, [](const auto& one, const auto& other) {
    return one.second != other.second ? one.second > other.second : one.first < other.first;
  });
  std::vector<std::string> words;
  for (const auto& [why, count] : reasons) words.push_back(fmt::format("{} {}", count, why));
  return fmt::format("{}", fmt::join(words, ", "));
}

namespace {

// The card has one licence: "other" if the rows have several.
std::string licence_of_all(const Tally& tally) {
  return tally.licences.size() == 1 ? hub_licence(tally.licences.begin()->first) : "other";
}

struct Column {
  std::string_view name;
  std::string_view type;  // empty: a list of messages
};

std::vector<Column> columns_of(const TrainingOptions& options) {
  const Format format = options.format;
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
  if (!options.reviews.empty()) columns.push_back({"review", "string"});
  if (format == Format::preference)
    for (Column each : std::initializer_list<Column>{{"rejected_round", "int64"},
                                                     {"rejected_turn", "int64"},
                                                     {"rejected_correctness", "bool"},
                                                     {"rejected_speedup", "float64"}})
      columns.push_back(each);
  return columns;
}

// The types of all columns, so that a loader does not infer them from the first rows.
std::string features(const TrainingOptions& options) {
  if (options.format == Format::traces) return {};
  bool key =
      options.reasoning == ReasoningKey::reasoning_content || options.reasoning == ReasoningKey::thinking;
  std::string text = "dataset_info:\n  features:\n";
  for (const Column& column : columns_of(options)) {
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
  if (o.unmeasured_is_zero) text += ", speeds that were not measured as 0.0";
  if (o.best_only) text += ", the best turn of each trace only";
  for (ReviewLabel label : o.leave_out)
    text += fmt::format(", without answers labelled `{}`", to_string(label));
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
      "\n{} from {}",
      table_cell(file_name), program_version, made_with(options), columns(options.format),
      counted(tally.rows, "row"), counted(tally.traces, "trace"));
  std::string left_out = left_out_in_words(tally);
  text += left_out.empty() ? ".\n" : fmt::format("; left out: {}.\n", left_out);
  text += counts_table("rows by source", tally.sources);
  text += counts_table("rows by licence of the task", tally.licences);
  text += counts_table("rows by model", tally.models);
  return text;
}

}  // namespace kw::store
