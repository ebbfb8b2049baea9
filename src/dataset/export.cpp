#include "dataset/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>

#include "dataset/row_copy.h"
#include "dataset/row_files.h"
#include "schema/json.h"

namespace kw::dataset {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr const char* kinds[] = {"fim", "cu2triton", "torch2triton", "trace"};

Result<std::vector<std::string>> files_of(const ExportSettings& settings) {
  std::error_code error;
  if (!fs::is_directory(settings.source, error)) {
    if (!settings.kinds.empty()) return fail("--kind is for the folder of a build", "leave it out");
    return std::vector{settings.source};
  }
  std::vector<std::string> files;
  for (const char* kind : kinds) {
    bool wanted = settings.kinds.empty() || std::ranges::find(settings.kinds, kind) != settings.kinds.end();
    fs::path path = fs::path(settings.source) / (std::string(kind) + ".jsonl");
    if (wanted && fs::exists(path, error)) files.push_back(path.string());
  }
  if (files.empty())
    return fail(fmt::format("{} holds no rows of that kind", settings.source),
                "give the folder that `dataset build` wrote, or a file of rows");
  return files;
}

bool holds(const json::object& labels, const std::string& label) {
  if (label == "compilable") return string_at(labels, "compile") == "compilable";
  return bool_at(labels, label).value_or(false);
}

// Whether the row is wanted, as far as its metadata say so.
Result<bool> wanted(const table::TextRow& row, const ExportSettings& settings) {
  if (!settings.split.empty()) {
    auto split = string_at(row.rest, "split");
    if (!split) return fail("--split: the rows have no column of that name");
    if (*split != settings.split) return false;
  }
  if (settings.without_flags) {
    const json::value* leaks = row.rest.if_contains("leakage");
    if (!leaks || !leaks->is_array()) return fail("--unflagged: the rows have no column `leakage`");
    if (!leaks->get_array().empty()) return false;
  }
  if (settings.labels.empty()) return true;
  const json::value* labels = row.rest.if_contains("labels");
  if (!labels || !labels->is_object()) return fail("--label: the rows have no column `labels`");
  return std::ranges::all_of(settings.labels,
                             [&](const std::string& label) { return holds(labels->get_object(), label); });
}

}  // namespace

Result<ExportTally> export_rows(const ExportSettings& settings) {
  auto paths = files_of(settings);
  if (!paths) return std::unexpected(paths.error());
  ExportTally tally;
  RowFiles files;
  std::vector<std::uint32_t> chosen;
  for (const std::string& path : *paths) {
    auto read = files.add(
        path, settings.read,
        [&](std::uint32_t number, const table::TextRow& row) -> Result<> {
          auto is_wanted = wanted(row, settings);
          if (!is_wanted) return std::unexpected(is_wanted.error());
          if (*is_wanted) chosen.push_back(number);
          return {};
        },
        [&](const RowError&) { ++tally.bad_rows; });
    if (!read) return std::unexpected(read.error());
  }
  tally.rows = files.count();
  tally.written = chosen.size();
  if (chosen.empty()) return fail("no row is left to write", "ask for fewer labels, or another split");
  CopyTarget target{settings.out, settings.spill, settings.python, settings.read.prompt,
                    settings.read.completion};
  target.messages = settings.messages;
  if (!settings.metadata) target.columns = {settings.read.prompt, settings.read.completion};
  std::size_t next = 0;
  auto copied = copy_rows(
      files,
      [&]() -> std::optional<std::uint32_t> {
        return next < chosen.size() ? std::optional(chosen[next++]) : std::nullopt;
      },
      target);
  if (!copied) return std::unexpected(copied.error());
  return tally;
}

}  // namespace kw::dataset
