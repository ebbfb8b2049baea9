#include "score_parts.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

#include "base/core/files.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "output/output_file.h"
#include "revision.h"
#include "score/report/result.h"
#include "score/report/review_sheet.h"
#include "score/report/view.h"
#include "verifier_source.h"
#include "verify/judge/devices.h"
#include "version.h"

namespace kw::app {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> inputs_of(const ScoreFlags& flags) {
  std::vector<fs::path> inputs(flags.source.paths.begin(), flags.source.paths.end());
  inputs.insert(inputs.end(), flags.manifests.begin(), flags.manifests.end());
  for (const std::string& one : {flags.baseline, flags.source.traces, flags.source.kernelbook})
    if (!one.empty()) inputs.emplace_back(one);
  return inputs;
}

std::vector<fs::path> sheets_of(const ScoreFlags& flags) {
  return {flags.beside(".review.csv"), flags.beside(".review.md")};
}

std::vector<fs::path> written_by(const ScoreFlags& flags) {
  std::vector<fs::path> written = {flags.output, flags.beside(".md")};
  if (flags.review > 0)
    for (fs::path& sheet : sheets_of(flags)) written.push_back(std::move(sheet));
  return written;
}

Result<> set_aside(const fs::path& path) {
  std::error_code error;
  std::size_t number = 1;
  auto aside = [&] {
    return path.parent_path() /
           fmt::format("{}.{}{}", path.stem().string(), number, path.extension().string());
  };
  while (fs::exists(aside(), error)) ++number;
  fs::rename(path, aside(), error);
  if (error)
    return fail(
        fmt::format("cannot rename {}, which contains review labels: {}", path.string(), error.message()),
        "move it yourself, or give another --output");
  fmt::print(stderr, "note: {} contains review labels; it was renamed to {}\n", path.string(),
             aside().string());
  return {};
}

bool has_labels(const fs::path& sheet) {
  auto read = score::read_review(sheet, {});
  return !read || !read->reviews.empty() || !read->problems.empty();
}

bool result_has_labels(const fs::path& path) {
  if (!scoring::is_result(path)) return false;
  auto result = scoring::read_result(path);
  return !result || !scoring::View(*result)["review"]["reviews"].list().empty();
}

bool is_report(const fs::path& path) {
  auto text = read_text_file(path);
  return text && text->starts_with("# Score\n");
}

}  // namespace

Result<> check_report(const fs::path& path) {
  return check_ours(path, "a report of `score`", is_report);
}

Result<> check_written(const ScoreFlags& flags) {
  std::error_code ignored;
  for (const fs::path& path : written_by(flags))
    for (const fs::path& input : inputs_of(flags))
      if (fs::equivalent(path, input, ignored))
        return fail(fmt::format("the output would overwrite the input {}", input.string()),
                    "give another --output");
  fs::path output = flags.output;
  if (auto ours = check_ours(output, "a result of `score`", scoring::is_result); !ours) return ours;
  if (auto report = check_report(flags.beside(".md")); !report) return report;
  fs::path folder = output.has_parent_path() ? output.parent_path() : fs::path(".");
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return fail(fmt::format("--output {}: cannot create files in {}", flags.output, folder.string()),
                "give an existing folder that you can write to");
  return {};
}

Result<> keep_labels(const ScoreFlags& flags) {
  std::error_code ignored;
  for (const fs::path& sheet : sheets_of(flags))
    if (flags.review > 0 && fs::exists(sheet, ignored) && has_labels(sheet))
      if (auto kept = set_aside(sheet); !kept) return kept;
  if (!result_has_labels(flags.output)) return {};
  return set_aside(flags.output);
}

namespace {

Result<> read_tasks(const ScoreOptions& options, Questions& questions) {
  const ModelFlags& model = options.flags.model;
  auto seed = static_cast<std::uint64_t>(model.sampling.seed.value_or(0));
  auto source = select_tasks(options.flags.source, seed, parquet_helper(options.settings.python));
  if (!source) return std::unexpected(source.error());
  return read_all(
      **source,
      [&](Job job) {
        questions.items.push_back({job.task.task_id, {job.task.task_id, "", {}}});
        questions.tasks.push_back(std::move(job));
      },
      [&](RowError error) { questions.bad_rows.push_back(std::move(error)); });
}

Result<> read_rows(const ScoreOptions& options, Questions& questions) {
  scoring::ReadOptions read = read_options(options);
  for (const std::string& path : options.flags.source.paths) {
    auto rows = scoring::read_prompts(path, read);
    if (!rows) return std::unexpected(rows.error());
    for (RowError& error : rows->bad_rows) questions.bad_rows.push_back(std::move(error));
    for (scoring::PromptRow& row : rows->rows) {
      if (options.flags.source.limit && questions.rows.size() >= *options.flags.source.limit) break;
      row.fields["output"] = "";  // until the model answers
      auto output = scoring::row_output(row.fields, row.number, "", read);
      auto question = scoring::question_of(row, read);
      if (!output || !question) {
        const Error& error = output ? question.error() : output.error();
        questions.bad_rows.push_back({path, row.number, error.what, error.remedy});
        continue;
      }
      const scoring::ScoredAnswer& record = output->record;
      questions.items.push_back({record.item, {record.task_id, record.row_id, output->trained_forms}});
      questions.rows.push_back(std::move(row));
    }
  }
  return {};
}

// Refuses repeated ids: a resumed run finds answers by the row's id.
Result<> check_ids(const Questions& questions) {
  std::map<std::string, std::size_t> ids;
  for (const scoring::PromptRow& row : questions.rows) {
    std::string id = text_at(row.fields, "id").value_or(fmt::format("row_{}", row.number));
    if (++ids[id] > 1)
      return fail(fmt::format("two rows have the id \"{}\"", id), "give every row a different id");
  }
  return {};
}

}  // namespace

scoring::ReadOptions read_options(const ScoreOptions& options) {
  const ScoreFlags& flags = options.flags;
  scoring::ReadOptions read;
  read.parquet = parquet_helper(options.settings.python);
  read.kernelbench = flags.source.kernelbench;
  read.turns = flags.turns;
  read.recorded = flags.recorded;
  read.least = options.settings.min_trust;
  read.columns = {flags.prompt_column, flags.output_column, flags.reference_column};
  // A row for a model has no output: its completion is the reference.
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

namespace {

namespace fs = std::filesystem;

score::EvaluatedItem evaluated(const scoring::Output& output) {
  return {output.record.task_id, output.record.row_id, output.trained_forms};
}

}  // namespace

Result<TrainingGate> TrainingGate::open(const ScoreFlags& flags) {
  TrainingGate gate;
  std::vector<fs::path> paths(flags.manifests.begin(), flags.manifests.end());
  for (const std::string& adapter : flags.adapters)
    paths.push_back(fs::path(adapter) / "training_manifest.json");
  for (const fs::path& path : paths) {
    auto manifest = score::read_manifest(path);
    if (!manifest) return std::unexpected(manifest.error());
    gate.loaded_.push_back({path.string(), std::move(*manifest)});
  }
  return gate;
}

std::vector<scoring::TrainingCheck::Seen> TrainingGate::seen(const std::vector<Item>& items) const {
  std::vector<score::EvaluatedItem> evaluated;
  for (const Item& item : items) evaluated.push_back(item.what);
  std::vector<scoring::TrainingCheck::Seen> all;
  for (const Loaded& loaded : loaded_)
    for (score::Seen& seen : score::seen_in_training(loaded.manifest, evaluated))
      all.push_back({items[seen.item].name, std::move(seen.by), std::move(seen.what), loaded.path});
  return all;
}

void TrainingGate::mark(scoring::OutputSet& set) const {
  std::vector<score::EvaluatedItem> items;
  for (const scoring::Output& output : set.outputs) items.push_back(evaluated(output));
  for (const Loaded& loaded : loaded_)
    for (const score::Seen& seen : score::seen_in_training(loaded.manifest, items))
      set.outputs[seen.item].record.was_trained_on = true;
}

scoring::TrainingCheck TrainingGate::check(const std::vector<Item>& items, bool is_allowed) const {
  scoring::TrainingCheck check;
  for (const Loaded& loaded : loaded_)
    check.manifests.push_back(
        {loaded.path, loaded.manifest.base_model, loaded.manifest.rows, loaded.manifest.rows_without_task});
  check.items = items.size();
  for (const Item& item : items) check.not_comparable += item.what.is_comparable() ? 0 : 1;
  check.seen = seen(items);
  check.is_allowed = is_allowed;
  return check;
}

std::vector<TrainingGate::Item> items_of(const scoring::OutputSet& set) {
  // All samples of a task are one item.
  std::set<score::EvaluatedItem> known;
  std::vector<TrainingGate::Item> items;
  for (const scoring::Output& output : set.outputs) {
    score::EvaluatedItem item = evaluated(output);
    if (known.insert(item).second) items.push_back({output.record.item, std::move(item)});
  }
  return items;
}

namespace {

namespace json = boost::json;

// The value of "NAME : VALUE" in a file of /proc; empty if there is none.
std::string field_of(const char* file, std::string_view name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);)
    if (std::size_t colon = line.find(':'); colon != std::string::npos && line.starts_with(name))
      return std::string(trim(std::string_view(line).substr(colon + 1)));
  return {};
}

json::value known_or_null(const std::optional<std::string>& text) {
  return text && !text->empty() ? json::value(*text) : json::value();
}

// The arguments of this process.
json::array command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  json::array words;
  for (std::string word; std::getline(file, word, '\0');) words.emplace_back(to_plain_text(word));
  return words;
}

}  // namespace

json::object made_facts() {
  std::error_code ignored;
  return {{"program", fmt::format("kernelwright {}", kw_version)},
          {"revision", kw_revision},
          {"created", utc_now()},
          {"command", command()},
          {"folder", to_utf8(std::filesystem::current_path(ignored).string())}};
}

json::object machine_facts() {
  utsname name{};
  ::uname(&name);
  json::array gpus;
  for (const verify::Gpu& gpu : verify::visible_gpus()) gpus.emplace_back(gpu.name);
  return {{"cpu", known_or_null(field_of("/proc/cpuinfo", "model name"))},
          {"threads", std::thread::hardware_concurrency()},
          {"memory", known_or_null(field_of("/proc/meminfo", "MemTotal"))},
          {"system", fmt::format("{} {} {}", name.sysname, name.release, name.machine)},
          {"gpus", std::move(gpus)},
          {"gpu_driver", known_or_null(verify::driver_version())}};
}

json::object protocol_facts(const ScoreOptions& options, const scoring::OutputSet& set) {
  std::set<std::string> protocols;
  for (const scoring::Output& output : set.outputs)
    if (output.record.verdict.by == scoring::JudgedBy::here && !output.record.verdict.protocol.empty())
      protocols.insert(output.record.verdict.protocol);
  if (!set.environment) return {{"protocols", json::array()}, {"note", "nothing was judged here"}};
  const Environment environment = set.environment.value_or(Environment{});
  const Settings& settings = options.settings;
  return {
      {"protocols", json::array(protocols.begin(), protocols.end())},
      {"device", known_or_null(environment.gpu ? environment.gpu
                                               : std::optional<std::string>("CPU, Triton's interpreter"))},
      {"torch", known_or_null(environment.torch)},
      {"triton", known_or_null(environment.triton)},
      {"cuda", known_or_null(environment.cuda)},
      {"driver", known_or_null(environment.driver)},
      {"correctness_trials", settings.correctness_trials},
      {"timing_trials", settings.timing_trials},
      {"tolerance", settings.tolerance.name},
      {"precision", settings.precision},
      {"tf32", settings.tf32},
      {"reduce_shapes", settings.reduce_shapes},
      {"timeout_s", static_cast<double>(settings.timeout.count()) / 1000},
      {"speed_believed_from", to_string(settings.min_trust)}};
}

}  // namespace kw::app
