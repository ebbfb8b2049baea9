#include "dataset/build/python.h"

#include <fmt/format.h>

#include "base/core/json.h"
#include "base/rows/helper_lines.h"

namespace kw::dataset {
namespace fs = std::filesystem;
namespace {

std::vector<std::string> command(const PythonTools& tools, const char* script) {
  return {tools.python, "-I", (tools.scripts / script).string()};
}

}  // namespace

ParquetHelper PythonTools::parquet() const {
  return {python, (scripts / "parquet_rows.py").string()};
}

Result<std::vector<FetchedPackage>> fetch_packages(const PythonTools& tools,
                                                   const std::vector<std::string>& names,
                                                   const std::string& form, const fs::path& folder) {
  std::vector<std::string> argv = command(tools, "pypi.py");
  argv.insert(argv.end(), {"--dest", folder.string(), "--form", form, "--"});
  argv.insert(argv.end(), names.begin(), names.end());
  auto lines = helper_lines(argv, process::HelperErrors::shown);
  if (!lines) return std::unexpected(lines.error());
  std::vector<FetchedPackage> packages;
  for (const auto& line : *lines)
    packages.push_back({string_at(line, "name").value_or(""), string_at(line, "version").value_or(""),
                        folder / fs::path(string_at(line, "file").value_or("")).filename()});
  // A name may be a list of several packages.
  if (packages.size() < names.size())
    return fail(fmt::format("{} of {} packages were fetched", packages.size(), names.size()));
  return packages;
}

Result<TokenCounts> count_tokens(const PythonTools& tools, const fs::path& rows, const fs::path& counts,
                                 const std::string& tokenizer, const fs::path& trained) {
  std::vector<std::string> argv = command(tools, "tokens.py");
  argv.insert(argv.end(), {"count", rows.string(), counts.string()});
  if (tokenizer.empty())
    argv.insert(argv.end(), {"--train", "151936", "--train-out", trained.string()});
  else
    argv.insert(argv.end(), {"--tokenizer", tokenizer});
  auto lines = helper_lines(argv, process::HelperErrors::kept);
  if (!lines) return std::unexpected(lines.error());
  if (lines->empty()) return fail("the tokenizer did not report its name");
  return TokenCounts{string_at(lines->back(), "tokenizer").value_or(tokenizer), counts};
}

Result<> draw_figures(const PythonTools& tools, const fs::path& analysis, const fs::path& folder) {
  std::vector<std::string> argv = command(tools, "figures.py");
  argv.insert(argv.end(), {analysis.string(), folder.string()});
  auto lines = helper_lines(argv, process::HelperErrors::kept);
  if (!lines) return std::unexpected(lines.error());
  return {};
}

Result<> write_parquet(const PythonTools& tools, const fs::path& rows, const fs::path& out) {
  std::vector<std::string> argv = command(tools, "parquet_dataset.py");
  argv.insert(argv.end(), {rows.string(), out.string()});
  auto lines = helper_lines(argv, process::HelperErrors::kept);
  if (!lines) return std::unexpected(lines.error());
  return {};
}

Result<> push_to_hub(const PythonTools& tools, const fs::path& folder, const std::string& repo,
                     bool is_private) {
  std::vector<std::string> argv = command(tools, "push.py");
  argv.insert(argv.end(), {folder.string(), repo});
  if (is_private) argv.push_back("--private");
  auto lines = helper_lines(argv, process::HelperErrors::shown);
  if (!lines) return std::unexpected(lines.error());
  return {};
}

}  // namespace kw::dataset
