#include "report/model/recognise.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>

#include "base/core/files.h"
#include "base/core/json.h"
#include "base/core/standard_input.h"
#include "base/core/text.h"
#include "dataset/units/row.h"
#include "loop/tasks/kernelbench_results.h"
#include "report/model/object_file.h"
#include "score/report/result.h"

namespace kw::report {
namespace json = boost::json;
namespace fs = std::filesystem;
namespace {

constexpr const char* accepted =
    "name a run folder, traces or verdicts as JSON, a score's result, or a data set's folder or rows";

bool is_dataset_file(const fs::path& path) {
  return path.extension() == ".csv" || path.extension() == ".parquet";
}

bool begins_with(const fs::path& path, std::string_view magic) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string head(magic.size(), '\0');
  return fd && ::read(fd.get(), head.data(), head.size()) == static_cast<ssize_t>(head.size()) &&
         head == magic;
}

// "[]": what `run` writes where no trace has ended.
bool is_empty_list(const fs::path& path) {
  constexpr std::size_t most_bytes = 64;
  auto text = read_file(path, most_bytes);
  return text && trim(*text).starts_with('[') && trim(*text).ends_with(']');
}

// By the first object that can be parsed.
Result<SourceKind> kind_of_objects(const std::string& path) {
  auto file = ObjectFile::open(path);
  if (!file) return std::unexpected(file.error());
  while (true) {
    auto next = file->next();
    if (!next) return fail(fmt::format("{}: {}", path, next.error().what), accepted);
    if (!*next && is_empty_list(path)) return SourceKind::traces;
    if (!*next) return fail(fmt::format("{} has no JSON objects", path), accepted);
    if (!(*next)->fields) continue;
    const json::object& fields = *(*next)->fields;
    std::string schema = string_at(fields, "schema").value_or("");
    if (schema.starts_with("kernelwright.score/")) return SourceKind::score;
    if (fields.contains("pytorch_code") &&
        (fields.contains("turns") || fields.contains("full_completion") || fields.contains("triton_code")))
      return SourceKind::traces;
    if (schema.starts_with("kernelwright.verdict/") ||
        (fields.contains("status") && fields.contains("stage")))
      return SourceKind::verdicts;
    if (fields.contains("prompt") && fields.contains("completion")) return SourceKind::dataset;
    return fail(
        fmt::format("{} has neither traces, verdicts, a score nor rows of prompt and completion", path),
        accepted);
  }
}

Result<SourceKind> kind_of_file(const fs::path& path) {
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found)
    return fail(fmt::format("{} does not exist", path.string()), accepted);
  if (!fs::status_known(status))
    return fail(fmt::format("cannot read {}: {}", path.string(), error.message()));
  if (!fs::is_regular_file(status))
    return fail(fmt::format("{} is neither a file nor a folder", path.string()), accepted);
  using namespace std::string_view_literals;
  if (begins_with(path, "SQLite format 3\0"sv)) return SourceKind::run;
  if (begins_with(path, "PAR1") || is_dataset_file(path)) return SourceKind::dataset;
  if (scoring::is_result(path)) return SourceKind::score;
  return kind_of_objects(path.string());
}

// KernelBench's results have no field that would name them: their whole form does.
Result<Found> found_in_file(const fs::path& path) {
  auto kind = kind_of_file(path);
  if (kind) return Found{path.string(), *kind};
  std::error_code error;
  if (path.extension() != ".json" || !fs::is_regular_file(path, error)) return std::unexpected(kind.error());
  auto results = read_kernelbench_results(path);
  if (!results || !*results) return std::unexpected(kind.error());
  return Found{path.string(), SourceKind::verdicts, true};
}

std::optional<SourceKind> kind_of_folder(const fs::path& path) {
  std::error_code error;
  // A pipe of such a name would wait for its writer.
  if (fs::is_regular_file(path / "run.db", error)) return SourceKind::run;
  if (fs::is_regular_file(path / "ANALYSIS.json", error) || !dataset_files(path).empty())
    return SourceKind::dataset;
  return {};
}

// Whether a run of the same name has the traces of this file.
bool is_export(const fs::path& file) {
  std::string stem = file.stem().string();
  constexpr std::string_view failed = "_failed";
  std::error_code error;
  auto has_run = [&](const std::string& name) {
    return fs::exists(file.parent_path() / (name + ".run") / "run.db", error);
  };
  return has_run(stem) || (stem.ends_with(failed) && has_run(stem.substr(0, stem.size() - failed.size())));
}

Result<std::vector<Found>> inputs_in(const fs::path& folder) {
  std::vector<Found> found;
  std::error_code error;
  std::set<fs::path> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) entries.insert(entry.path());
  if (error) return fail(fmt::format("cannot read {}: {}", folder.string(), error.message()));
  for (const fs::path& entry : entries) {
    if (entry.filename().string().starts_with('.')) continue;
    if (fs::is_directory(entry, error)) {
      if (auto kind = kind_of_folder(entry)) found.emplace_back(entry.string(), *kind);
      continue;
    }
    if ((entry.extension() != ".json" && entry.extension() != ".jsonl") || is_export(entry)) continue;
    if (auto input = found_in_file(entry)) found.push_back(std::move(*input));
  }
  return found;
}

}  // namespace

std::vector<fs::path> dataset_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (std::string_view kind : enum_words<corpus::RowKind>) {
    if (fs::path rows = folder / fmt::format("{}.jsonl", kind); fs::is_regular_file(rows, error)) {
      files.push_back(std::move(rows));
      continue;
    }
    for (const char* ending : {"_sft.csv", "_sft_validation.csv"})
      if (fs::path rows = folder / fmt::format("{}{}", kind, ending); fs::is_regular_file(rows, error))
        files.push_back(std::move(rows));
  }
  return files;
}

Result<std::vector<Found>> recognise_inputs(const std::string& path) {
  std::error_code error;
  if (is_standard_input(path)) {
    auto copy = standard_input();
    if (!copy) return std::unexpected(copy.error());
    auto kind = kind_of_file(*copy);
    if (!kind) return std::unexpected(about_standard_input(kind.error(), *copy));
    return std::vector{Found{*copy, *kind}};
  }
  if (!fs::is_directory(path, error)) {
    auto found = found_in_file(path);
    if (!found) return std::unexpected(found.error());
    return std::vector{std::move(*found)};
  }
  if (auto kind = kind_of_folder(path)) return std::vector{Found{path, *kind}};
  auto found = inputs_in(path);
  if (found && found->empty())
    return fail(fmt::format("{} has no run, traces, verdicts, score or data set", path), accepted);
  return found;
}

}  // namespace kw::report
