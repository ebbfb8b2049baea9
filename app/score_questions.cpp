#include <fmt/format.h>

#include "host.h"
#include "schema/json.h"
#include "score_parts.h"

namespace kw::app {
namespace {

scoring::Turns turns_of(const std::string& word) {
  if (word == "first") return scoring::Turns::first;
  return word == "last" ? scoring::Turns::last : scoring::Turns::best;
}

Result<> read_tasks(const ScoreOptions& options, Questions& questions) {
  const ModelFlags& model = options.flags.model;
  auto seed = static_cast<std::uint64_t>(model.sampling.seed.value_or(0));
  auto source = options.flags.source.open(parquet_helper(options.settings.python), seed);
  if (!source) return std::unexpected(source.error());
  while (true) {
    auto next = (*source)->next();
    if (!next) return std::unexpected(next.error());
    if (!*next) return {};
    if (auto* error = std::get_if<RowError>(&**next)) {
      questions.bad_rows.push_back(std::move(*error));
      continue;
    }
    questions.tasks.push_back(std::move(std::get<TaskItem>(**next)));
    const Task& task = questions.tasks.back().task;
    questions.items.push_back({task.task_id, {task.task_id, "", {}}});
  }
}

Result<> read_rows(const ScoreOptions& options, Questions& questions) {
  scoring::ReadOptions read = read_options(options);
  for (const std::string& path : options.flags.source.paths) {
    auto rows = scoring::read_prompts(path, read);
    if (!rows) return std::unexpected(rows.error());
    for (RowError& error : rows->bad_rows) questions.bad_rows.push_back(std::move(error));
    for (scoring::PromptRow& row : rows->rows) {
      if (options.flags.source.limit && questions.rows.size() >= *options.flags.source.limit) break;
      row.fields["output"] = "";  // till the model says something
      auto output = scoring::row_output(row.fields, row.number, "", read);
      auto question = scoring::question_of(row, read);
      if (!output || !question) {
        const Error& error = output ? question.error() : output.error();
        questions.bad_rows.push_back({path, row.number, error.what, error.remedy});
        continue;
      }
      const scoring::Record& record = output->record;
      questions.items.push_back({record.item, {record.task_id, record.row_id, output->trained_forms}});
      questions.rows.push_back(std::move(row));
    }
  }
  return {};
}

// Answers are found again by the row's id.
Result<> check_ids(const Questions& questions) {
  std::map<std::string, std::size_t> ids;
  for (const scoring::PromptRow& row : questions.rows) {
    std::string id = text_at(row.fields, "id").value_or(fmt::format("row_{}", row.number));
    if (++ids[id] > 1)
      return fail(fmt::format("two rows have the id \"{}\"", id), "give every row an id of its own");
  }
  return {};
}

}  // namespace

scoring::ReadOptions read_options(const ScoreOptions& options) {
  const ScoreFlags& flags = options.flags;
  scoring::ReadOptions read;
  read.parquet = parquet_helper(options.settings.python);
  read.kernelbench = flags.source.kernelbench;
  read.turns = turns_of(flags.turns);
  read.recorded = flags.recorded;
  read.least = options.settings.min_trust;
  read.columns = {flags.prompt_column, flags.output_column, flags.reference_column};
  // What a model is to be asked has no output yet: its completion is the reference.
  if (flags.asks_a_model() && read.columns.reference.empty()) read.columns.reference = "completion";
  return read;
}

Result<Questions> read_questions(const ScoreOptions& options) {
  Questions questions;
  const std::vector<std::string>& paths = options.flags.source.paths;
  if (!paths.empty()) {
    auto rows = scoring::holds_prompts(paths.front(), read_options(options));
    if (!rows) return std::unexpected(rows.error());
    if (*rows) {
      if (auto read = read_rows(options, questions); !read) return std::unexpected(read.error());
      if (auto unique = check_ids(questions); !unique) return std::unexpected(unique.error());
      return questions;
    }
  }
  if (auto read = read_tasks(options, questions); !read) return std::unexpected(read.error());
  return questions;
}

}  // namespace kw::app
