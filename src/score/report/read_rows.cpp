#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <set>

#include "base/core/json.h"
#include "base/rows/rows.h"
#include "code/answers/extraction.h"
#include "loop/tasks/readers.h"
#include "score/report/holes.h"
#include "score/report/read_outputs.h"

namespace kw::scoring {
namespace json = boost::json;
namespace fs = std::filesystem;
namespace {

constexpr std::string_view output_names[] = {"output",          "answer",      "response",
                                             "full_completion", "kernel_code", "completion"};
constexpr std::string_view reference_names[] = {"reference_completion", "expected_completion", "completion"};

bool is_csv(const std::string& path) {
  return fs::path(path).extension() == ".csv";
}

std::string output_column(const json::object& row, const ColumnNames& names) {
  if (!names.output.empty()) return row.contains(names.output) ? names.output : "";
  for (std::string_view name : output_names)
    if (row.contains(name)) return std::string(name);
  return {};
}

std::string reference_column(const json::object& row, const ColumnNames& names, const std::string& output) {
  if (!names.reference.empty()) return row.contains(names.reference) ? names.reference : "";
  for (std::string_view name : reference_names)
    if (name != output && row.contains(name)) return std::string(name);
  return {};
}

// Text, or the contents of messages; empty if absent or null.
Result<std::optional<std::string>> text_at_column(const json::object& row, const std::string& name) {
  const json::value* value = name.empty() ? nullptr : row.if_contains(name);
  if (!value || value->is_null()) return std::nullopt;
  auto text = table::text_of(*value);
  if (!text) return fail(fmt::format("\"{}\" is {}", name, text.error().what), text.error().remedy);
  return std::move(*text);
}

// The task of a row that has a PyTorch reference or names a known task; else empty.
Result<std::optional<Task>> task_of(const json::object& row, const fs::path& folder,
                                    const ReadOptions& options) {
  if (row.contains("reference_code") || row.contains("reference_path")) {
    auto task = batch_task(row, folder);
    if (!task) return std::unexpected(task.error());
    return std::move(*task);
  }
  auto named = string_at(row, "task_id");
  auto known = named ? options.tasks.find(*named) : options.tasks.end();
  if (known == options.tasks.end()) return std::nullopt;
  return known->second;
}

// The code in an answer. An answer to be judged may contain prose around the code; a continuation of a prompt
// is used unchanged, unless it has a fence and its reference has none.
std::string code_in(const std::string& answer, bool is_judged, const std::string& reference) {
  auto has_frame = [](const std::string& text) { return text.contains("```") || text.contains("<triton>"); };
  bool framed = has_frame(answer) && !has_frame(reference);
  if (!is_judged && !framed) return answer;
  std::string code = extract_code(answer);
  return code.empty() && !is_judged ? answer : code;
}

struct RowTaker {
  std::function<void(std::size_t number, json::object fields)> good;
  std::function<void(RowError)> bad;
};

// Tries the possible columns of a CSV file, since its reader requires the names of two columns.
Result<std::unique_ptr<table::TextRows>> open_csv(const std::string& path, const ReadOptions& options,
                                                  std::string& column) {
  std::vector<std::string> names = {options.columns.output};
  if (names.front().empty()) names.assign(std::begin(output_names), std::end(output_names));
  Result<std::unique_ptr<table::TextRows>> opened;
  for (const std::string& name : names) {
    table::ReadOptions read;
    read.prompt = options.columns.prompt;
    read.completion = column = name;
    opened = table::open_rows(path, read);
    if (opened) return opened;
  }
  return opened;
}

Result<> each_csv_row(const std::string& path, const ReadOptions& options, const RowTaker& take) {
  std::string column;
  auto rows = open_csv(path, options, column);
  if (!rows) return std::unexpected(rows.error());
  for (std::size_t number = 1;; ++number) {
    auto next = (*rows)->next();
    if (!next) return std::unexpected(next.error());
    if (!*next) return {};
    if (auto* error = std::get_if<RowError>(&**next)) {
      take.bad(std::move(*error));
      continue;
    }
    table::TextRow& row = std::get<table::TextRow>(**next);
    json::object fields = std::move(row.rest);
    fields[options.columns.prompt] = row.prompt;
    fields[column] = row.completion;
    take.good(number, std::move(fields));
  }
}

Result<> each_json_row(const std::string& path, const ReadOptions& options, const RowTaker& take) {
  auto rows = open_rows(path, options.parquet);
  if (!rows) return std::unexpected(rows.error());
  while (true) {
    auto next = (*rows)->next();
    if (!next) return std::unexpected(next.error());
    if (!*next) return {};
    if (auto* error = std::get_if<RowError>(&**next))
      take.bad(std::move(*error));
    else
      take.good(std::get<Row>(**next).number, std::move(std::get<Row>(**next).fields));
  }
}

Result<> each_row(const std::string& path, const ReadOptions& options, const RowTaker& take) {
  return is_csv(path) ? each_csv_row(path, options, take) : each_json_row(path, options, take);
}

bool is_task(const json::object& row) {
  return row.contains("pytorch_code") || row.contains("python_code") || row.contains("reference_code") ||
         row.contains("reference_path") || (row.contains("code") && row.contains("problem_id"));
}

// Whether the test is true for the first good row.
Result<bool> first_row(const std::string& path, const ReadOptions& options,
                       const std::function<bool(const json::object&)>& test) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return false;
  for (std::string_view ending : {".py", ".md", ".txt", ".db"})
    if (path.ends_with(ending)) return false;
  auto rows = open_rows(path, options.parquet);
  if (!rows) return std::unexpected(rows.error());
  for (int tried = 0; tried < 100; ++tried) {
    auto next = (*rows)->next();
    if (!next) return std::unexpected(next.error());
    if (!*next) return false;
    if (const Row* row = std::get_if<Row>(&**next)) return test(row->fields);
  }
  return false;
}

// The hashes by all columns that may contain the training target, regardless of the scored column.
std::set<std::string> trained_forms(const json::object& row, const ColumnNames& names) {
  std::vector<std::string> completions(std::begin(output_names), std::end(output_names));
  completions.insert(completions.end(), std::begin(reference_names), std::end(reference_names));
  completions.push_back(names.output);
  completions.push_back(names.reference);
  return row_forms(row, {names.prompt, "prompt"}, completions);
}

// The task's name as in training: rows made from a run have it as the path in their source.
std::string named_task(const json::object& row) {
  if (auto named = text_at(row, "task_id"); named && !named->empty()) return *named;
  if (text_at(row, "kind") == "trace") {
    const json::value* source = row.if_contains("source");
    auto parsed = source && source->is_string() ? parse_json(source->get_string()).value_or(nullptr)
                  : source                      ? *source
                                                : json::value();
    if (const json::object* object = parsed.if_object())
      if (auto path = string_at(*object, "path"); path && !path->empty()) return *path;
    if (auto path = string_at(row, "source_path"); path && !path->empty()) return *path;
  }
  return text_at(row, "sample_key").value_or("");
}

}  // namespace

Result<Output> row_output(const json::object& row, std::size_t number, const fs::path& folder,
                          const ReadOptions& options) {
  Output output;
  std::string column = output_column(row, options.columns);
  if (column.empty())
    return fail("the row has no output",
                fmt::format("expected is one of the columns {}; --output-column names "
                            "another",
                            fmt::join(output_names, ", ")));
  auto answer = text_at_column(row, column);
  if (!answer) return std::unexpected(answer.error());
  std::string reference_name = reference_column(row, options.columns, column);
  auto reference = text_at_column(row, reference_name);
  if (!reference) return std::unexpected(reference.error());
  auto prompt = text_at_column(row, options.columns.prompt);
  if (!prompt) return std::unexpected(prompt.error());
  auto task = task_of(row, folder, options);
  if (!task) return std::unexpected(task.error());

  ScoredAnswer& record = output.record;
  record.row_id = text_at(row, "id").value_or("");
  record.task_id = *task ? (*task)->task_id : named_task(row);
  record.target = record.row_id.empty() ? fmt::format("row_{}", number) : record.row_id;
  record.item = record.task_id.empty() ? record.target : record.task_id;
  record.source = *task ? (*task)->source : text_at(row, "source").value_or("row");
  record.kind = text_at(row, "kind").value_or("");
  record.model = text_at(row, "model").value_or("");
  output.prompt = prompt->value_or("");
  output.has_reference = reference->has_value();
  output.reference = reference->value_or("");
  output.trained_forms = trained_forms(row, options.columns);
  bool is_source = column == "kernel_code";
  std::string text = answer->value_or("");
  output.hole = *task ? std::nullopt : hole_of(row, output.prompt);
  if (output.hole)
    output.code = hole_text(text, output.reference);
  else
    output.code = is_source ? text : code_in(text, task->has_value(), output.reference);
  if (*task) {
    output.job.emplace();
    output.job->task = std::move(**task);
    output.job->candidate.code = output.code;
  }
  return output;
}

Result<bool> holds_rows(const std::string& path, const ReadOptions& options) {
  if (is_csv(path)) return true;
  return first_row(path, options, [&](const json::object& row) {
    bool is_trace = row.contains("sample_key") && row.contains("pytorch_code");
    return !is_trace && !row.contains("kernel_path") && !output_column(row, options.columns).empty();
  });
}

Result<bool> holds_prompts(const std::string& path, const ReadOptions& options) {
  if (is_csv(path)) return true;
  return first_row(path, options, [&](const json::object& row) {
    return row.contains(options.columns.prompt) && !is_task(row);
  });
}

Result<PromptRows> read_prompts(const std::string& path, const ReadOptions& options) {
  PromptRows found;
  RowTaker take{
      [&](std::size_t number, json::object fields) { found.rows.push_back({number, std::move(fields)}); },
      [&](RowError error) { found.bad_rows.push_back(std::move(error)); }};
  if (auto read = each_row(path, options, take); !read) return std::unexpected(read.error());
  return found;
}

Result<> collect_rows(const std::string& path, Collector& to) {
  fs::path folder = fs::path(path).parent_path();
  auto good = [&](std::size_t number, const json::object& fields) {
    auto output = row_output(fields, number, folder, to.options());
    if (output)
      to.add(std::move(*output));
    else
      to.bad({path, number, output.error().what, output.error().remedy});
  };
  return each_row(path, to.options(), {good, [&](RowError error) { to.bad(std::move(error)); }});
}

}  // namespace kw::scoring
