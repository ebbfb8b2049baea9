#include "scoring/read_outputs.h"

#include <fmt/format.h>

#include "schema/candidate.h"
#include "scoring/result.h"
#include "tasks/open.h"

namespace kw::scoring {
namespace {

namespace fs = std::filesystem;

bool is_run(const fs::path& path) {
  std::error_code ignored;
  return path.filename() == "run.db" || fs::exists(path / "run.db", ignored);
}

// A folder stands for what the verifier recognises in it.
Result<> collect(const std::string& path, Collector& to) {
  std::error_code error;
  if (!fs::exists(path, error)) return fail(fmt::format("{} does not exist", path), "check the path");
  if (is_result(path))
    return fail(fmt::format("{} is a result of a score, and not what one is made of", path),
                "give it to --baseline, or with a sheet to --read-review");
  if (is_run(path)) return collect_traces(path, to);
  if (fs::is_directory(path, error)) return collect_jobs(path, to);
  auto rows = holds_rows(path, to.options());
  if (!rows) return std::unexpected(rows.error());
  if (*rows) return collect_rows(path, to);
  auto kind = recognise(path, to.options().parquet);
  if (!kind) return std::unexpected(kind.error());
  return *kind == InputKind::traces ? collect_traces(path, to) : collect_jobs(path, to);
}

Output output_of(Job job) {
  Output output;
  output.record.target = job.id;
  output.record.item = output.record.task_id = job.task.task_id;
  output.record.source = job.task.source;
  output.code = job.candidate.code;
  output.job = std::move(job);
  return output;
}

}  // namespace

void Collector::add(Output output) {
  Record& record = output.record;
  std::size_t before = targets_.next(record.target);
  if (before > 0) record.target = fmt::format("{}~{}", record.target, before + 1);
  record.sample_number = samples_.next(record.item);
  record.answer_sha256 = candidate_sha256(output.code);
  record.answer_bytes = output.code.size();
  if (output.job) {
    output.job->id = record.target;
    output.job->sample_number = record.sample_number;
  }
  set_.outputs.push_back(std::move(output));
}

Result<> collect_jobs(const std::string& path, Collector& to) {
  auto source = open_source(path, {to.options().parquet, to.options().kernelbench, {}});
  if (!source) return std::unexpected(source.error());
  while (true) {
    auto next = (*source)->next();
    if (!next) return std::unexpected(next.error());
    if (!*next) return {};
    if (auto* error = std::get_if<RowError>(&**next))
      to.bad(std::move(*error));
    else
      to.add(output_of(std::move(std::get<Job>(**next))));
  }
}

Result<OutputSet> read_outputs(const std::vector<std::string>& sources, const ReadOptions& options) {
  Collector collector(options);
  for (const std::string& source : sources)
    if (auto read = collect(source, collector); !read) return std::unexpected(read.error());
  return collector.take();
}

}  // namespace kw::scoring
