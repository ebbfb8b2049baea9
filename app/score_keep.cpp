#include "score_keep.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "score/review_sheet.h"
#include "scoring/result.h"
#include "scoring/view.h"

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
    return fail(fmt::format("{} holds labels and cannot be renamed: {}", path.string(), error.message()),
                "move it yourself, or give another --output");
  fmt::print(stderr, "note: {} held labels of people; it is {} now\n", path.string(), aside().string());
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

}  // namespace

Result<> check_written(const ScoreFlags& flags) {
  std::error_code ignored;
  for (const fs::path& path : written_by(flags))
    for (const fs::path& input : inputs_of(flags))
      if (fs::equivalent(path, input, ignored))
        return fail(fmt::format("{} would be written over, and it is an input", input.string()),
                    "give another --output");
  fs::path output = flags.output;
  if (fs::exists(output, ignored) && !scoring::is_result(output))
    return fail(fmt::format("--output {}: the file is there, and it is no result of a score", flags.output),
                "give another --output, or move the file");
  fs::path folder = output.has_parent_path() ? output.parent_path() : fs::path(".");
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return fail(fmt::format("--output {}: no file can be made in {}", flags.output, folder.string()),
                "give a folder that exists and that you may write to");
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

}  // namespace kw::app
