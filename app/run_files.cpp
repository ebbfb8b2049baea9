#include "run_files.h"

#include <fmt/format.h>

#include <string>
#include <system_error>
#include <utility>

#include "loop/run_store/trace_files.h"
#include "output/output_file.h"

namespace kw::app {

namespace fs = std::filesystem;

namespace {

// The newest run that --fresh renamed; empty if there is none.
fs::path newest_renamed(const fs::path& database) {
  std::error_code ignored;
  fs::path newest;
  for (int number = 1;; ++number) {
    fs::path renamed = fmt::format("{}.{}", database.string(), number);
    if (!fs::exists(renamed, ignored)) return newest;
    newest = std::move(renamed);
  }
}

// A --fresh that ended between its renames leaves the traces of a run that has a new name.
std::unexpected<Error> without_run(const fs::path& traces, const fs::path& database) {
  std::string what =
      fmt::format("{} has traces, and its run {} does not exist", traces.string(), database.string());
  if (fs::path renamed = newest_renamed(database); !renamed.empty())
    what += fmt::format("; an earlier run was renamed to {}", renamed.string());
  return fail(what, "name another file with --output, or give --fresh, which renames this one");
}

}  // namespace

std::array<fs::path, 2> trace_files(const RunOutputFlags& output) {
  return {output.output, store::failed_path(output.output)};
}

Result<> check_trace_files(const RunOutputFlags& output) {
  auto is_ours = [](const fs::path& file) {
    auto content = store::content_of(file);
    return content == store::FileContent::traces || content == store::FileContent::none;
  };
  std::error_code ignored;
  bool resumes = fs::exists(output.run_folder() / "run.db", ignored);
  for (const fs::path& file : trace_files(output)) {
    if (auto ours = check_ours(file, "a trace file of kernelwright", is_ours); !ours) return ours;
    if (!resumes && !output.fresh && store::content_of(file) != store::FileContent::none)
      return without_run(file, output.run_folder() / "run.db");
  }
  return {};
}

}  // namespace kw::app
